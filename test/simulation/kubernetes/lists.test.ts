import { beforeAll, describe, expect, it } from 'vitest'
import type { KubeAnswer, KubeObject } from '../../support/kube-api.js'
import { NODES, onBoth, PODS } from './conformance.js'

const MAPS = '/api/v1/NS/configmaps'

onBoth('lists', (cluster) => {
  beforeAll(async () => {
    for (const [name, labels] of [
      ['d', { tier: 'front', app: 'web' }],
      ['b', { tier: 'back', app: 'web' }],
      ['a', { tier: 'back' }],
      ['c', { app: 'db' }],
    ] as const) {
      await cluster().ok('POST', MAPS, { metadata: { name: `m-${name}`, labels: { ours: '1', ...labels } } })
    }
    await cluster().addNode('n-1')
    await cluster().addPod('p-1', 'n-1')
    await cluster().addPod('p-2', 'n-1', { phase: 'Failed', ready: 'False' })
    await cluster().addPod('p-3', 'n-2')
  })

  const names = async (path: string) => (await cluster().list(path)).map(({ metadata }) => metadata.name)

  const page = (query: string): Promise<KubeAnswer> =>
    cluster().call('GET', `${MAPS}?${query}&labelSelector=ours`)

  it('are sorted by name, with a version and without the kind of each', async () => {
    const { body } = await cluster().call('GET', `${MAPS}?labelSelector=ours`)

    expect(body).toMatchObject({
      ...{ kind: 'ConfigMapList', apiVersion: 'v1' },
      metadata: { resourceVersion: expect.stringMatching(/^\d+$/) },
    })
    expect(body.items.map(({ metadata }: KubeObject) => metadata.name)).toEqual(['m-a', 'm-b', 'm-c', 'm-d'])
    for (const item of body.items) expect(item).not.toHaveProperty('kind')
  })

  it.each([
    ['app=web', ['m-b', 'm-d']],
    ['app==web', ['m-b', 'm-d']],
    ['app!=web,ours', ['m-a', 'm-c']],
    ['app in (web, db)', ['m-b', 'm-c', 'm-d']],
    ['tier notin (back),ours=1', ['m-c', 'm-d']],
    ['tier,app', ['m-b', 'm-d']],
    ['!tier,ours', ['m-c']],
    ['app in (web),tier=front', ['m-d']],
    ['app=none', []],
  ])('by labels: %s', async (selector, expected) => {
    expect(await names(`${MAPS}?labelSelector=${encodeURIComponent(selector)}`)).toEqual(expected)
  })

  it.each([
    [`${MAPS}?fieldSelector=metadata.name%3Dm-a`, ['m-a']],
    [`${MAPS}?labelSelector=ours&fieldSelector=metadata.name!%3Dm-a`, ['m-b', 'm-c', 'm-d']],
    [`${PODS}?fieldSelector=spec.nodeName%3Dn-1`, ['p-1', 'p-2']],
    [`${PODS}?fieldSelector=spec.nodeName!%3Dn-1`, ['p-3']],
    [`${PODS}?fieldSelector=spec.nodeName!%3D`, ['p-1', 'p-2', 'p-3']],
    [`${PODS}?fieldSelector=status.phase%3DFailed`, ['p-2']],
    [`${PODS}?fieldSelector=spec.nodeName%3Dn-1%2Cstatus.phase!%3DFailed`, ['p-1']],
    ['/api/v1/pods?fieldSelector=metadata.namespace%3Ddefault', ['p-1', 'p-2', 'p-3']],
    [`${NODES}?fieldSelector=spec.unschedulable%3Dfalse`, ['n-1']],
    [`${NODES}?fieldSelector=spec.unschedulable%3Dtrue`, []],
  ])('by fields: %s', async (path, expected) => {
    expect(await names(path)).toEqual(expected)
  })

  it.each([
    ['labelSelector=app+in+(', /unable to parse requirement/],
    ['fieldSelector=data.x%3Dy', /"data.x" is not a known field selector/],
    ['fieldSelector=nonsense', /invalid selector: 'nonsense'/],
    ['limit=x', /strconv.ParseInt: parsing "x": invalid syntax/],
    ['continue=x', /continue key is not valid/],
    ['resourceVersion=x', /resourceVersion: Invalid value: "x"/],
  ])('cannot be asked for by %s', async (query, message) => {
    expect(await cluster().call('GET', `${MAPS}?${query}`)).toMatchObject({
      status: 400,
      body: { reason: 'BadRequest', message: expect.stringMatching(message) },
    })
  })

  it('of a version that has not been yet time out', async () => {
    expect(await cluster().call('GET', `${MAPS}?resourceVersion=999999999`)).toMatchObject({
      status: 504,
      body: { reason: 'Timeout', details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } },
    })
  })

  describe('in pages', () => {
    it('show one moment, whatever is written meanwhile', async () => {
      const first = await page('limit=2')
      await cluster().ok('POST', MAPS, { metadata: { name: 'm-cc', labels: { ours: '1' } } })
      await cluster().ok('PATCH', `${MAPS}/m-d`, { data: { late: 'yes' } })
      const second = await page(`limit=2&continue=${first.body.metadata.continue}`)
      await cluster().ok('DELETE', `${MAPS}/m-cc`)

      expect(first.body.items.map(({ metadata }: KubeObject) => metadata.name)).toEqual(['m-a', 'm-b'])
      expect(second.body.items).toMatchObject([{ metadata: { name: 'm-c' } }, { metadata: { name: 'm-d' } }])
      expect(second.body.items[1]).not.toHaveProperty('data')
      expect(second.body.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion)
      expect(second.body.metadata).not.toHaveProperty('continue')
    })

    it('say how many are left when nothing selects', async () => {
      const all = await cluster().list(MAPS)

      const { body } = await cluster().call('GET', `${MAPS}?limit=1`)

      expect(body.metadata).toMatchObject({
        continue: expect.any(String),
        remainingItemCount: all.length - 1,
      })
    })
  })

  it.each([
    ['PartialObjectMetadataList', { kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1' }],
    ['Table', { kind: 'Table', apiVersion: 'meta.k8s.io/v1' }],
  ])('as %s', async (form, expected) => {
    const accept = `application/json;as=${form};v=v1;g=meta.k8s.io,application/json`

    const { body } = await cluster().callWith({ accept }, `${NODES}?limit=1`)

    expect(body).toMatchObject({ ...expected, metadata: { resourceVersion: expect.any(String) } })
    const [first] = body.items ?? body.rows
    expect(first).toMatchObject(
      form === 'Table'
        ? { cells: expect.arrayContaining(['n-1', 'Ready']), object: { metadata: { name: 'n-1' } } }
        : { metadata: { name: 'n-1', resourceVersion: expect.any(String) } },
    )
    expect(first).not.toHaveProperty('status')
  })
})
