import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { addNode, NODES } from './bare-nodes.js'
import { cleanCluster } from './clean.js'
import { KubeApi } from './kube-api.js'
import { type RealControlPlane, realControlPlane } from './parts.js'
import { answer, blackHole, delay, FaultProxy, loseAnswer, pass, pretend, refuse } from './proxy.js'
import { waitUntil } from './wait.js'

describe('a fault proxy', () => {
  let cluster: RealControlPlane
  let proxy: FaultProxy
  let api: KubeApi
  const patch = { metadata: { annotations: { a: 'b' } } }

  beforeAll(async () => {
    cluster = await realControlPlane()
    proxy = await FaultProxy.start({ url: cluster.url, ca: cluster.access.ca })
    api = new KubeApi({ url: proxy.url, ca: proxy.ca, token: cluster.adminToken })
  })

  beforeEach(async () => {
    await proxy.reset()
    await cleanCluster(cluster)
    await addNode(cluster.api, 'w-1')
  })

  afterAll(async () => {
    api.close()
    await proxy.stop()
  })

  async function annotation(): Promise<string | undefined> {
    return (await cluster.api.ok('GET', `${NODES}/w-1`)).metadata.annotations?.a
  }

  it('passes what no rule decides, kubectl’s requests too, and logs it', async () => {
    expect(await api.list(NODES)).toHaveLength(1)
    expect(proxy.requests).toMatchObject([{ method: 'GET', path: NODES, verdict: 'pass', status: 200 }])

    const kubeconfig = await cluster.kubeconfigFile('admin', proxy.url, { ca: proxy.ca })
    const args = ['--kubeconfig', kubeconfig, 'label', 'node', 'w-1', 'a=b']
    const { stdout } = await promisify(execFile)(cluster.kubectl, args)
    expect(stdout).toContain('w-1 labeled')
  })

  it('swallows, breaks, answers and delays requests', async () => {
    const limited = () => ({ signal: AbortSignal.timeout(300) })
    const path = `${NODES}/w-1`
    proxy.on({ method: 'PATCH' }, blackHole(), { times: 1 })
    await expect(api.call('PATCH', path, patch, limited())).rejects.toThrow(/abort/i)
    proxy.on({ path: /nodes/ }, refuse(), { times: 1 })
    await expect(api.call('PATCH', path, patch)).rejects.toThrow(/hang up|ECONNRESET/)
    proxy.on({ path }, answer(429, { kind: 'Status' }, { 'retry-after': '10' }), { times: 1 })
    expect(await api.call('PATCH', path, patch)).toMatchObject({
      status: 429,
      headers: { 'retry-after': '10' },
    })
    expect(await annotation()).toBeUndefined()

    const late = proxy.on(({ method }) => method === 'PATCH', delay(400), { times: 1 })
    const caller = new AbortController()
    const given = expect(api.call('PATCH', path, patch, caller)).rejects.toThrow(/abort/i)
    await late.hit
    caller.abort()
    await given
    expect(late.hits).toHaveLength(1)
    await waitUntil(async () => (await annotation()) === 'b', { for: 'the late patch' })
  })

  it('loses an answer, pretends a write, and changes headers', async () => {
    const path = `${NODES}/w-1`
    proxy.on({ method: 'PATCH' }, pretend(), { times: 1 })
    expect(await api.call('PATCH', path, patch)).toMatchObject({ status: 200, body: { kind: 'Node' } })
    expect(await annotation()).toBeUndefined()
    proxy.on({ method: 'PATCH' }, loseAnswer(), { times: 1 })
    await expect(api.call('PATCH', path, patch)).rejects.toThrow(/hang up|ECONNRESET/)
    expect(await annotation()).toBe('b')
    proxy.on({}, pass({ headers: { authorization: undefined } }), { times: 1 })
    expect(await api.call('GET', path)).toMatchObject({ status: 403 })
    proxy.on({}, pass({ change: ({ body }) => ({ body: body.replace('w-1', 'w-9') }) }), { times: 1 })
    expect((await api.ok('GET', path)).metadata.name).toBe('w-9')
  })

  it('tells a test that an answer has arrived before the client gets it', async () => {
    const steps: string[] = []
    const onResponse = async () => {
      steps.push(`arrived ${await annotation()}`)
      steps.push(`held ${await annotation()}`)
    }
    const rule = proxy.on({ method: 'PATCH' }, pass({ onResponse }))
    await api.ok('PATCH', `${NODES}/w-1`, patch)
    steps.push('received')

    expect(steps).toEqual(['arrived b', 'held b', 'received'])
    expect((await rule.hit).body).toBe(JSON.stringify(patch))
  })

  it('streams watches, also while they are frozen and after', async () => {
    const events: string[] = []
    const around: string[] = []
    const watching = new AbortController()
    const watch = async (through: KubeApi, told: string[]) => {
      for await (const { type, object } of through.watch(NODES, watching.signal)) {
        if (type === 'ADDED') told.push(object.metadata.name)
      }
    }
    const watched = watch(api, events).catch(String)
    const watchedAround = watch(cluster.api, around).catch(String)
    await waitUntil(() => events.includes('w-1'), { for: 'the first event' })
    await addNode(cluster.api, 'w-2')
    await waitUntil(() => events.includes('w-2'), { for: 'an event' })

    proxy.freeze()
    await addNode(cluster.api, 'w-3')
    const meanwhile = api.list(NODES)
    await waitUntil(() => around.includes('w-3'), { for: 'the event, around the proxy' })
    expect(events).toEqual(['w-1', 'w-2'])
    proxy.thaw()
    await waitUntil(() => events.includes('w-3'), { for: 'the event held up' })
    expect(await meanwhile).toHaveLength(3)
    watching.abort()
    expect(await Promise.all([watched, watchedAround])).toEqual([
      expect.stringMatching(/abort/i),
      expect.stringMatching(/abort/i),
    ])
  })

  it('refuses connections while it is down', async () => {
    await proxy.down()
    const fresh = new KubeApi({ url: proxy.url, ca: proxy.ca, token: cluster.adminToken })
    await expect(fresh.list(NODES)).rejects.toThrow(/ECONNREFUSED/)
    await proxy.up()
    expect(await fresh.list(NODES)).toHaveLength(1)
    fresh.close()
  })
})
