import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { portErrorKind } from '../../../src/ports/errors.js'
import { KubernetesApi } from '../../../src/providers/kubernetes/api.js'
import { answer, blackHole, FaultProxy, refuse, type Verdict } from '../../support/proxy.js'
import { waitUntil } from '../../support/wait.js'
import { addNode, addPod, Bed, NODES, patchNow, patient, portError } from './bed.js'
import { json, standIn, writeKubeconfig } from './stand-in.js'

let bed: Bed

beforeAll(async () => {
  bed = await Bed.start()
})

beforeEach(async () => {
  bed.controlPlane.apiServer.resume()
  await bed.clean()
  await addNode(bed.admin, 'w-1')
})

afterAll(async () => {
  await bed?.stop()
})

async function elapsedSeconds(act: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await act()
  return (performance.now() - began) / 1000
}

/** The proxy first, then the API server itself. */
async function withSpare() {
  return (await bed.open({ proxy: bed.proxy, endpoints: [bed.controlPlane.url] })).cluster
}

describe('B35 one API server', () => {
  it('(a) that hangs: every request ends in time, and works again afterwards', async () => {
    const { cluster } = await bed.open({})
    // Some connections to be kept, others to be made: each hangs in its own way.
    await Promise.all([cluster.nodes(patient()), cluster.nodes(patient())])
    bed.controlPlane.apiServer.pause()

    const seconds = await elapsedSeconds(async () => {
      const all = await Promise.allSettled([
        cluster.nodes(patient()),
        cluster.podsOn('w-1', patient()),
        cluster.patchNode('w-1', '1', { unschedulable: true }, patient()),
      ])
      const unreachable = { reason: portError('unreachable', /^Could not .*: no (answer|connection) .*\.$/) }
      expect(all).toMatchObject([unreachable, unreachable, unreachable])
    })

    expect(seconds).toBeLessThan(15)
    bed.controlPlane.apiServer.resume()
    expect(await cluster.nodes(patient())).toHaveLength(1)
  })

  it('(b) that refuses connections, and comes back', async () => {
    const { cluster } = await bed.open()
    await bed.proxy.down()

    const seconds = await elapsedSeconds(() =>
      expect(cluster.nodes(patient())).rejects.toEqual(portError('unreachable', /connection refused/)),
    )

    // Long before the deadline of a request.
    expect(seconds).toBeLessThan(8)
    await bed.proxy.up()
    expect(await cluster.nodes(patient())).toHaveLength(1)
  })

  it('that never answers: the error says so', async () => {
    const { cluster } = await bed.open()
    bed.proxy.on({ path: NODES }, blackHole())

    const listed = cluster.nodes(patient())

    await expect(listed).rejects.toEqual(
      portError('unreachable', /^Could not list the nodes: https:\S+: no answer within 10 s\.$/),
    )
  })

  it('that breaks the connection', async () => {
    const { cluster } = await bed.open()
    bed.proxy.on({ path: NODES }, refuse(), { times: 1 })

    await expect(cluster.nodes(patient())).rejects.toEqual(portError('unreachable', /connection/))
  })

  it('whose caller gives up: the request ends at once, with the caller’s own reason', async () => {
    const { cluster } = await bed.open()
    const hole = bed.proxy.on({ path: NODES }, blackHole())
    const caller = new AbortController()
    const reason = new Error('cancelled')
    const listed = cluster.nodes(caller.signal)
    await hole.hit

    const seconds = await elapsedSeconds(async () => {
      caller.abort(reason)
      await expect(listed).rejects.toBe(reason)
    })

    expect(seconds).toBeLessThan(0.5)
    await expect(cluster.nodes(caller.signal)).rejects.toBe(reason)
  })
})

describe('B35 several API servers', () => {
  it('a read and a write go to the next one when the first refuses connections', async () => {
    const cluster = await withSpare()
    await bed.proxy.down()

    const seconds = await elapsedSeconds(async () => {
      await cluster.nodes(patient())
      await patchNow(cluster, 'w-1', { unschedulable: true })
    })

    expect(seconds).toBeLessThan(8)
    expect(await bed.admin.ok('GET', `${NODES}/w-1`)).toMatchObject({ spec: { unschedulable: true } })
  })

  it('the one that worked is asked first from then on', async () => {
    const cluster = await withSpare()
    await bed.proxy.down()
    await cluster.nodes(patient())
    await bed.proxy.up()

    await cluster.nodes(patient())

    expect(bed.proxy.requests).toEqual([])
  })

  it('a read waits 3 s for one that hangs, once', async () => {
    const cluster = await withSpare()
    const hole = bed.proxy.on({ path: NODES }, blackHole())

    const first = await elapsedSeconds(() => cluster.nodes(patient()))
    const second = await elapsedSeconds(() => cluster.nodes(patient()))

    expect(first).toBeGreaterThan(2.9)
    expect(first).toBeLessThan(9)
    expect(second).toBeLessThan(2.9)
    expect(hole.hits).toHaveLength(1)
  })

  it.each<[string, Verdict]>([
    ['502 of a proxy without a backend', answer(502, 'bad gateway')],
    [
      '503 of an API server that is starting',
      answer(503, { kind: 'Status', code: 503, message: 'starting' }),
    ],
    ['504 of a proxy whose backend hangs', answer(504, 'gateway timeout')],
    ['a broken connection', refuse()],
  ])('a read goes to the next one after %s', async (_, verdict) => {
    const cluster = await withSpare()
    const failed = bed.proxy.on({ path: NODES }, verdict)

    expect(await cluster.nodes(patient())).toHaveLength(1)
    expect(failed.hits).toHaveLength(1)
  })

  it.each<[string, Verdict]>([
    ['a broken connection', refuse()],
    ['503 that may have come too late', answer(503, 'unavailable')],
  ])('a write that may have arrived is not sent to another: %s', async (_, verdict) => {
    const cluster = await withSpare()
    await addPod(bed.admin, 'web', 'w-1')
    const [pod] = await cluster.podsOn('w-1', patient())
    if (pod === undefined) throw new Error('no pod')
    bed.proxy.on({ path: /eviction$/ }, verdict)
    const start = await bed.controlPlane.audit.mark()

    await expect(cluster.evict(pod, null, patient())).rejects.toEqual(portError('unreachable'))

    await bed.controlPlane.audit.settled()
    expect(await bed.controlPlane.audit.writes(start, 'noderoll')).toEqual([])
  })

  it('a write that got no answer makes the next call start elsewhere', async () => {
    const cluster = await withSpare()
    bed.proxy.on({ method: 'PATCH' }, refuse())
    await expect(cluster.patchNode('w-1', '1', {}, patient())).rejects.toEqual(portError('unreachable'))
    const asked = bed.proxy.requests.length

    await cluster.nodes(patient())

    expect(bed.proxy.requests).toHaveLength(asked)
  })

  it('when none answers, each is named with its reason', async () => {
    const second = await FaultProxy.start(bed.controlPlane.access)
    const { cluster } = await bed.open({ proxy: second, endpoints: [bed.proxy.url] })
    await Promise.all([bed.proxy.down(), second.down()])

    const refused = (url: string) => `${url}: connection refused`.replaceAll('.', '\\.')
    await expect(cluster.nodes(patient())).rejects.toEqual(
      portError('unreachable', new RegExp(`: ${refused(second.url)}; ${refused(bed.proxy.url)}\\.$`)),
    )
  })
})

describe('B35 an API server that has just started', () => {
  const FORBIDDEN = {
    kind: 'Status',
    code: 403,
    reason: 'Forbidden',
    message:
      'nodes is forbidden: User "noderoll" cannot list resource "nodes" in API group "" at the cluster scope',
  }

  it('never says for good what it says before it knows the rules', async () => {
    const { cluster } = await bed.open({})
    const kinds = new Set<string>()
    let isBack = false
    const asking = async () => {
      while (!isBack)
        await cluster.nodes(patient()).catch((error) => kinds.add(portErrorKind(error) ?? 'bug'))
    }
    const asked = asking()

    await bed.controlPlane.apiServer.kill()
    await bed.controlPlane.apiServer.restart()
    isBack = true
    await asked

    expect([...kinds].filter((kind) => kind !== 'unreachable' && kind !== 'throttled')).toEqual([])
    expect(await cluster.nodes(patient())).toHaveLength(1)
  })

  it('is asked later while it is not ready', async () => {
    const { cluster } = await bed.open()
    bed.proxy.on({ path: NODES }, answer(403, FORBIDDEN))
    bed.proxy.on({ path: '/readyz' }, answer(500, 'poststarthook/rbac/bootstrap-roles failed'))

    await expect(cluster.nodes(patient())).rejects.toEqual(
      portError('throttled', /cannot list .*\(403\)\. But https:\S+\/readyz answers 500: it is starting\.$/),
    )
  })

  it('is asked again when it has become ready', async () => {
    const { cluster } = await bed.open()
    bed.proxy.on({ path: NODES }, answer(403, FORBIDDEN), { times: 1 })

    expect(await cluster.nodes(patient())).toHaveLength(1)
  })

  it('is asked again when another one behind the same address says that it is ready', async () => {
    const { cluster } = await bed.open()
    bed.proxy.on({ path: NODES }, answer(403, FORBIDDEN), { times: 3 })

    expect(await cluster.nodes(patient())).toHaveLength(1)
  })

  it('is asked again over another connection, which may lead to another one', async () => {
    const connections = new Set<number | undefined>()
    const server = await standIn((path, outgoing, { socket }) => {
      connections.add(socket.remotePort)
      const isFirst = [...connections].indexOf(socket.remotePort) === 0
      json(
        outgoing,
        isFirst && path !== '/readyz' ? FORBIDDEN : {},
        isFirst && path !== '/readyz' ? 403 : 200,
      )
    })
    const folder = await mkdtemp(join(tmpdir(), 'noderoll-endpoints-'))
    const api = new KubernetesApi(await writeKubeconfig(folder, { server: server.url }))
    onTestFinished(async () => {
      await api.close()
      await server.stop()
      await rm(folder, { recursive: true })
    })

    const answered = await api.call({ doing: 'list', method: 'GET', path: NODES }, patient())

    expect(answered).toMatchObject({ code: 200 })
    expect(server.requests.map(({ path }) => path)).toEqual([NODES, '/readyz', NODES])
  })

  it('is believed within a few seconds when it is ready, and then at once', async () => {
    const { cluster } = await bed.open()
    bed.proxy.on({ path: NODES }, answer(403, FORBIDDEN))
    const refused = () =>
      expect(cluster.nodes(patient())).rejects.toEqual(portError('refused', /nodes is forbidden.*\(403\)\.$/))

    const first = await elapsedSeconds(refused)
    const second = await elapsedSeconds(refused)

    expect(first).toBeLessThan(5)
    // The doubt alone takes longer.
    expect(second).toBeLessThan(1.9)
  })
})

describe('CKS-13 /readyz/etcd', () => {
  it('is ok when the API server says so', async () => {
    const { cluster } = await bed.open()

    expect(await cluster.etcdReady(patient())).toEqual({ kind: 'ok' })
  })

  it('is not ok when etcd is gone', async () => {
    const { cluster } = await bed.open()
    bed.controlPlane.etcd.pause()

    try {
      // The API server asks its etcd at most once a second, and gives the last answer meanwhile.
      const health = await waitUntil(
        async () => {
          const one = await cluster.etcdReady(patient())
          return one.kind !== 'ok' && one
        },
        { for: 'the API server to notice' },
      )
      expect(health).toMatchObject({ kind: 'notOk', why: expect.stringMatching(/\/readyz\/etcd: .*etcd/) })
    } finally {
      bed.controlPlane.etcd.resume()
      await waitUntil(async () => (await cluster.etcdReady(patient())).kind === 'ok', { for: 'etcd' })
    }
  })

  it.each<[string, Verdict]>([
    ['no right to ask', answer(403, { kind: 'Status', code: 403 })],
    ['an API server too old to be asked', answer(404, '404 page not found')],
    ['a broken connection', refuse()],
  ])('is unknown, with the reason: %s', async (_, verdict) => {
    const { cluster } = await bed.open()
    bed.proxy.on({ path: '/readyz/etcd' }, verdict)

    expect(await cluster.etcdReady(patient())).toEqual({ kind: 'unknown', why: expect.stringMatching(/./) })
  })
})
