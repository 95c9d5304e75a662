import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { addBudget, BUDGETS, PODS } from '../providers/kubernetes/bed.js'
import { answer, blackHole, type Verdict } from '../support/proxy.js'
import { waitUntil } from '../support/wait.js'
import { DrainBed } from './drain-bed.js'

let bed: DrainBed

beforeAll(async () => {
  bed = await DrainBed.open()
})
beforeEach(() => bed.begin())
afterEach(() => bed.end())
afterAll(() => bed?.close())

function status(code: number, message: string, details: object = {}): Record<string, unknown> {
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, message, details }
}

const evictionOf = (name: string) => ({ path: new RegExp(`/pods/${name}/eviction$`) })

describe('what the answers to evictions lead to', () => {
  it('CKS-16 ANSWER-04, ANSWER-05, ANSWER-14, API-29 pods behind one budget are asked again, and told together with its arithmetic', async () => {
    for (const name of ['a', 'b']) await bed.addPod(name, { labels: { app: 'held' } })
    await addBudget(bed.parts.admin, 'held', 'held', 2)

    await expect(bed.drain({ limitSeconds: 10 })).rejects.toMatchObject({
      type: 'DrainBlocked',
      message: expect.stringMatching(
        /^drain of w-1 did not end in 10 s: budget default\/held needs 2 healthy, has 2; holds 2 pods: default\/a, default\/b$/,
      ),
    })

    const asked = await bed.evictions(429)
    for (const name of ['a', 'b']) {
      // 250, 500, 1000 ms apart: asked again, and not as fast as can be.
      expect(asked.filter((one) => one === name).length).toBeGreaterThanOrEqual(3)
      expect(asked.filter((one) => one === name).length).toBeLessThanOrEqual(6)
    }
  })

  it('CKS-16 API-30 as many pods go as the budget allows, and the next when its count allows', async () => {
    for (const name of ['a', 'b']) await bed.addPod(name, { labels: { app: 'held' } })
    await bed.addMarkedNode('w-2')
    await bed.addPod('c', { labels: { app: 'held' } }, 'w-2')
    await addBudget(bed.parts.admin, 'held', 'held', 2)
    const drain = bed.start()
    await drain.untilWaitsFor(/^budget default\/held needs 2 healthy, has 2; holds 1 pod/)

    await bed.addPod('d', { labels: { app: 'held' } }, 'w-2')
    await drain.end

    expect((await bed.evictions(201)).sort()).toEqual(['a', 'b'])
  })

  it('CKS-16 API-35 two budgets on one pod are named, both of them, and the pod is still tried', async () => {
    await bed.addPod('web')
    await addBudget(bed.parts.admin, 'one', 'web', 0)
    await addBudget(bed.parts.admin, 'two', 'web', 0)
    await addBudget(bed.parts.admin, 'other', 'api', 0)
    const drain = bed.start()

    const waits = await drain.untilWaitsFor(/budgets/)
    await bed.parts.admin.ok('DELETE', `${BUDGETS}/two`)
    await drain.end

    expect(waits).toEqual([
      'budgets default/one and default/two select the same pods, which the eviction API refuses; they hold 1 pod: default/web',
    ])
    expect(await bed.evictions(201)).toEqual(['web'])
  })

  it('CKS-16 API-37 a budget that is not yet counted holds up its own pods only', async () => {
    await bed.addPod('web')
    await bed.addPod('other')
    const uncounted = status(429, 'Cannot evict pod as it would violate the pod’s disruption budget.', {
      causes: [
        {
          reason: 'DisruptionBudget',
          message: 'The disruption budget b is still being processed by the server.',
        },
      ],
      retryAfterSeconds: 10,
    })
    bed.parts.proxy.on(evictionOf('web'), answer(429, uncounted, { 'retry-after': '10' }))
    const drain = bed.start()
    await bed.untilEvicted('other')

    // A heartbeat may have been told while the other one was on its way out.
    await waitUntil(
      async () =>
        JSON.stringify(await drain.untilWaitsFor(/still being processed/)) ===
        JSON.stringify([
          'pod default/web waits: The disruption budget b is still being processed by the server',
        ]),
      { for: 'web alone to be waited for' },
    )

    expect(bed.parts.proxy.requests.filter(({ path }) => path.endsWith('/web/eviction'))).toHaveLength(1)
  })

  it('CKS-16 flow control slows down all evictions, for as long as the server asks', async () => {
    for (let n = 0; n < 12; n++) await bed.addPod(`p-${n}`)
    const overloaded = status(429, 'Too many requests, please try again later.')
    const rule = bed.parts.proxy.on({ path: /eviction$/ }, answer(429, overloaded, { 'retry-after': '2' }), {
      times: 4,
    })
    let open = 0
    let most = 0
    bed.parts.proxy.on({ path: /eviction$/ }, async () => {
      if (rule.hits.length < 4) return undefined
      open++
      most = Math.max(most, open)
      await new Promise((resolve) => setTimeout(resolve, 100))
      open--
      return undefined
    })

    expect(await bed.drain({ policy: { parallelEvictions: 4 } })).toMatchObject({ evicted: 12 })

    const [first] = await bed.requests({ subresource: 'eviction', code: 201 })
    expect((first?.time ?? 0) - (rule.hits[0]?.time ?? 0)).toBeGreaterThanOrEqual(1_990)
    // Halved once for the four that were refused together, and grown again a little.
    expect(most).toBeGreaterThanOrEqual(2)
    expect(most).toBeLessThanOrEqual(4)
    expect(bed.parts.proxy.requests.filter(({ path }) => path.endsWith('/eviction'))).toHaveLength(16)
  })

  it('CKS-16 ANSWER-07, ANSWER-12, ANSWER-15 an error ends the try of its pod, the others go, and all errors are told together', async () => {
    for (const name of ['a', 'b', 'c']) await bed.addPod(name)
    bed.parts.proxy.on(evictionOf('a'), answer(400, status(400, 'a is no good')))
    bed.parts.proxy.on(evictionOf('b'), answer(403, status(403, 'a webhook says no to b')))

    await expect(bed.drain()).rejects.toMatchObject({
      type: 'DrainBlocked',
      message:
        'drain of w-1 cannot end: Could not evict pod default/a: a is no good (400).; ' +
        'Could not evict pod default/b: a webhook says no to b (403).',
    })

    expect(await bed.evictions(201)).toEqual(['c'])
    const tries = bed.parts.proxy.requests.filter(({ path }) => /\/(a|b)\/eviction$/.test(path))
    expect(tries).toHaveLength(2)
  })

  it('CKS-16 K1 a missing permission is no blocked drain: it ends at once, and says what is missing', async () => {
    for (const name of ['a', 'b']) await bed.addPod(name)
    const rules =
      'pods "a" is forbidden: User "noderoll" cannot create resource "pods/eviction" in API group "" in the namespace "default"'
    bed.parts.proxy.on({ path: /eviction$/ }, answer(403, status(403, rules)))

    await expect(bed.drain({ policy: { parallelEvictions: 1 } })).rejects.toMatchObject({
      type: 'NotAllowed',
      nonRetryable: true,
      message: `drain of w-1: Could not evict pod default/a: ${rules} (403).`,
    })

    expect(await bed.evictions()).toEqual([])
  })

  it.each<[string, Verdict]>([
    ['an internal error', answer(500, status(500, 'etcd leader changed'))],
    ['an error of something in between', answer(502, 'bad gateway')],
  ])(
    'CKS-16 ANSWER-12 %s is tried again while the others go, and told when it never ends',
    async (_, verdict) => {
      for (const name of ['a', 'b']) await bed.addPod(name)
      bed.parts.proxy.on(evictionOf('a'), verdict)

      await expect(bed.drain({ limitSeconds: 8 })).rejects.toMatchObject({
        type: 'DrainBlocked',
        message: expect.stringMatching(
          /did not end in 8 s: pod default\/a waits: Could not evict pod default\/a: /,
        ),
      })

      expect(await bed.evictions(201)).toEqual(['b'])
      expect(
        bed.parts.proxy.requests.filter(({ path }) => path.endsWith('/a/eviction')).length,
      ).toBeGreaterThanOrEqual(2)
    },
  )

  it('CKS-16 ANSWER-10 a pod of a namespace that ends is waited for, not asked again and again', async () => {
    await bed.addPod('web', { graceSeconds: 30 })
    const going = status(403, 'unable to evict: namespace is being terminated', {
      causes: [{ reason: 'NamespaceTerminating', message: 'it is being terminated' }],
    })
    bed.parts.proxy.on({ path: /eviction$/ }, answer(403, going))
    const drain = bed.start()
    await drain.untilWaitsFor(/being terminated/)

    await bed.parts.admin.ok('DELETE', `${PODS}/web`)
    await drain.untilWaitsFor(/^pod default\/web is terminating/)
    await bed.endPod('web')

    expect(await drain.end).toMatchObject({ evicted: 0 })
    expect(bed.parts.proxy.requests.filter(({ path }) => path.endsWith('/eviction'))).toHaveLength(1)
  })

  it('CKS-16 an eviction that hangs holds up no other one, and is tried again', async () => {
    for (const name of ['a', 'b']) await bed.addPod(name)
    bed.parts.proxy.on(evictionOf('a'), blackHole(), { times: 1 })
    const drain = bed.start()

    await bed.untilEvicted('b')
    await drain.end

    expect(await bed.evictions(201)).toEqual(['b', 'a'])
  })
})

describe('a DaemonSet of which nobody can say whether it exists', () => {
  const controller = {
    ...{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent' },
    ...{ uid: '11111111-1111-4111-8111-111111111111', controller: true },
  }

  beforeEach(async () => {
    // Nobody collects the pod of an owner who does not exist.
    bed.parts.controlPlane.controllerManager.pause()
    await bed.addPod('agent-1', { owner: controller })
    await bed.addPod('web')
  })
  afterEach(() => bed.parts.controlPlane.controllerManager.resume())

  it.each<[string, Verdict, string, RegExp]>([
    [
      'is refused',
      answer(403, status(403, 'no')),
      'NotAllowed',
      /^drain of w-1: Could not .*agent.*: no \(403\)/,
    ],
    ['fails for ever', answer(500, status(500, 'etcd is gone')), 'DrainBlocked', /etcd is gone/],
  ])(
    'CKS-16 ANSWER-17 fails the drain before the first eviction when the question %s',
    async (_, verdict, type, message) => {
      bed.parts.proxy.on({ path: /daemonsets/ }, verdict)

      await expect(bed.drain({ limitSeconds: 3 })).rejects.toMatchObject({
        type,
        message: expect.stringMatching(message),
      })

      expect(await bed.evictions()).toEqual([])
    },
  )

  it('CKS-16 ANSWER-17 is asked for again when the question has failed, and found', async () => {
    const rule = bed.parts.proxy.on({ path: /daemonsets/ }, answer(500, status(500, 'etcd is gone')), {
      times: 2,
    })

    await bed.drain({ policy: { barePods: 'evict' } })

    expect(rule.hits).toHaveLength(2)
    expect((await bed.evictions()).sort()).toEqual(['agent-1', 'web'])
  })
})

describe('what counts as gone', () => {
  it('B02 ANSWER-02 a pod that terminates already is not asked to go', async () => {
    await bed.addPod('web', { graceSeconds: 30 })
    await bed.parts.admin.ok('DELETE', `${PODS}/web`)
    const drain = bed.start()
    await drain.untilWaitsFor(/^pod default\/web is terminating/)
    await bed.endPod('web')

    expect(await drain.end).toMatchObject({ evicted: 0 })
    expect(await bed.evictions()).toEqual([])
  })

  it('B02 WAIT-03, API-19 a pod that never goes fails the drain at its deadline, by name', async () => {
    await bed.addPod('web', { finalizers: ['example.com/hold'] })

    await expect(bed.drain({ limitSeconds: 5 })).rejects.toMatchObject({
      type: 'DrainBlocked',
      message:
        'drain of w-1 did not end in 5 s: pod default/web is terminating, held by finalizer example.com/hold',
    })

    const { status: is, metadata } = await bed.parts.admin.ok('GET', `${PODS}/web`)
    expect(is.conditions).toContainEqual(
      expect.objectContaining({ type: 'DisruptionTarget', status: 'True' }),
    )
    expect(metadata.finalizers).toEqual(['example.com/hold'])
  })

  it('B01 WAIT-02, WAIT-07 a pod of the same name elsewhere is another one', async () => {
    await bed.addPod('web', { graceSeconds: 30 })
    await bed.addMarkedNode('w-2')
    const drain = bed.start()
    await bed.untilEvicted('web')

    await bed.endPod('web')
    await bed.addPod('web', {}, 'w-2')
    await drain.end

    expect(await bed.evictions()).toEqual(['web'])
    expect((await bed.parts.admin.ok('GET', `${PODS}/web`)).metadata.deletionTimestamp).toBeUndefined()
  })

  it('B01 WAIT-08 a new pod of the old one’s name is evicted by its own UID, never on the old one’s account', async () => {
    const old = await bed.addPod('web', { graceSeconds: 30 })
    // Without it the drain may end in the moment in which there is no pod.
    await bed.addPod('slow', { graceSeconds: 30 })
    const drain = bed.start()
    await bed.untilEvicted('web')
    await bed.untilEvicted('slow')

    await bed.endPod('web')
    const replacement = await bed.addPod('web', { graceSeconds: 30 })
    await bed.untilEvicted('web')
    await bed.endPod('web')
    await bed.endPod('slow')
    await drain.end

    const uids = (await bed.requests({ subresource: 'eviction', name: 'web' })).map(
      ({ requestBody }) => requestBody?.deleteOptions?.preconditions?.uid,
    )
    expect(uids).toEqual([old.metadata.uid, replacement.metadata.uid])
  })
})
