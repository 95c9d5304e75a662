import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { addBudget, BUDGETS, NODES, PODS, patient } from '../providers/kubernetes/bed.js'
import type { KubeObject } from '../support/kube-api.js'
import { answer } from '../support/proxy.js'
import { DrainBed } from './drain-bed.js'

const BINDING = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'

let bed: DrainBed

beforeAll(async () => {
  bed = await DrainBed.open()
})
beforeEach(() => bed.begin())
afterEach(async () => {
  await bed.end()
  await bed.parts.admin.call('DELETE', `${BINDING}/noderoll-force`)
})
afterAll(() => bed?.close())

const FORCE = {
  onBlocked: 'force',
  force: { drainOlderThanSeconds: 21_600, lastForcedOlderThanSeconds: 3_600, podOlderThanSeconds: 0 },
} as const
const LONG = { policy: FORCE, askedSecondsAgo: 25_000, limitSeconds: 90_000 }

/** What an operator does who wants drains to be forced. */
async function bindForce(): Promise<void> {
  await bed.parts.admin.ok('POST', BINDING, {
    metadata: { name: 'noderoll-force' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'noderoll-force' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'noderoll' }],
  })
  await bed.untilAllowed('DELETE', `${PODS}/no-such-pod?dryRun=All`)
}

/** Pods that a budget never lets go, with the grace given. */
async function addHeld(names: readonly string[], graceSeconds = 0): Promise<KubeObject[]> {
  const pods: KubeObject[] = []
  for (const name of names) pods.push(await bed.addPod(name, { labels: { app: 'held' }, graceSeconds }))
  await addBudget(bed.parts.admin, 'held', 'held', names.length)
  return pods
}

async function deletions() {
  const asked = await bed.requests({ verb: 'delete', resource: 'pods' })
  return asked.filter(({ requestBody }) => requestBody?.dryRun === undefined)
}

async function lastForced() {
  const { records } = await bed.parts.open({})
  return (await records.read(patient())).value.lastForced
}

describe('drain.onBlocked: force', () => {
  it('CKS-16 deletes one pod past its budget, by UID and with its own grace, says so, and no second one', async () => {
    await bindForce()
    const pods = await addHeld(['a', 'b'], 7)
    const drain = bed.start(LONG)
    await drain.untilWaitsFor(/is terminating/)
    const waits = await drain.untilWaitsFor(/^budget default\/held needs 2 healthy, has 1; holds 1 pod/)

    const [deletion, ...others] = await deletions()
    const forced = pods.find(({ metadata }) => metadata.name === deletion?.name)
    expect(others).toEqual([])
    expect(deletion?.requestBody.preconditions).toEqual({ uid: forced?.metadata.uid })
    expect(deletion?.requestBody.gracePeriodSeconds).toBeUndefined()
    expect(await bed.parts.admin.ok('GET', `${PODS}/${deletion?.name}`)).toMatchObject({
      metadata: { deletionGracePeriodSeconds: 7 },
    })
    expect(waits).toContain(`pod default/${deletion?.name} is terminating`)
    expect(await lastForced()).toMatchObject({ pod: `default/${deletion?.name}`, node: 'w-1' })
    const events = await bed.parts.admin.list('/api/v1/namespaces/default/events')
    expect(events.filter(({ reason }) => reason === 'DeletedPastBudget')).toEqual([
      expect.objectContaining({
        type: 'Warning',
        message: expect.stringContaining('drain.onBlocked is force'),
      }),
    ])

    await bed.parts.admin.ok('DELETE', '/apis/policy/v1/namespaces/default/poddisruptionbudgets/held')
    await bed.endPod(deletion?.name ?? '')
    const other = pods.find((pod) => pod !== forced)?.metadata.name ?? ''
    await bed.untilEvicted(other)
    await bed.endPod(other)
    expect((await drain.end).warnings).toEqual([
      expect.stringMatching(
        new RegExp(`^pod default/${deletion?.name} on w-1 was deleted although budget default/held needs 2`),
      ),
    ])
    expect(await deletions()).toHaveLength(1)
  })

  it('CKS-16 a drain that cannot end all the same says what it has deleted', async () => {
    await bindForce()
    await addHeld(['a', 'b'], 300)

    await expect(bed.drain({ ...LONG, limitSeconds: 25_010 })).rejects.toMatchObject({
      type: 'DrainBlocked',
      message: expect.stringMatching(
        /; pod default\/(a|b) on w-1 was deleted although budget default\/held needs 2 healthy, has 2: /,
      ),
    })
  })

  it('CKS-16 what one attempt has deleted the next one still says', async () => {
    await bindForce()
    await addHeld(['a'], 300)
    const first = bed.start(LONG)
    await first.untilWaitsFor(/^pod default\/a is terminating/)
    first.cancel()
    await expect(first.end).rejects.toThrow(/CANCELLED/)

    const second = bed.startFor(first)
    await second.untilWaitsFor(/^pod default\/a is terminating/)
    await bed.endPod('a')

    expect((await second.end).warnings).toEqual([
      expect.stringMatching(/^pod default\/a on w-1 was deleted although budget default\/held needs 1/),
    ])
    expect(await deletions()).toHaveLength(1)
  })

  it('CKS-16 two drains at once delete one pod between them', async () => {
    await bindForce()
    await bed.addMarkedNode('w-2')
    await bed.addPod('a', { labels: { app: 'held' }, graceSeconds: 30 })
    await bed.addPod('b', { labels: { app: 'held' }, graceSeconds: 30 }, 'w-2')
    await addBudget(bed.parts.admin, 'held', 'held', 2)

    const drains = [bed.start(LONG), bed.start({ ...LONG, node: 'w-2' })]
    await Promise.all(drains.map((drain) => drain.untilWaitsFor(/is terminating|holds 1 pod/)))
    await Promise.any(drains.map((drain) => drain.untilWaitsFor(/is terminating/)))
    await Promise.any(drains.map((drain) => drain.untilWaitsFor(/holds 1 pod/)))
    // Both have asked whether they may: the loser has been told.
    const asked = (await bed.requests({ verb: 'delete' })).filter(({ requestBody }) => requestBody?.dryRun)
    expect(asked.map(({ name }) => name).sort()).toEqual(['a', 'b'])

    expect(await deletions()).toHaveLength(1)
  })

  it.each<[string, { readonly askedSecondsAgo?: number; readonly podOlderThanSeconds?: number }]>([
    ['the drain is young', { askedSecondsAgo: 21_000 }],
    ['the pod is young', { podOlderThanSeconds: 60 }],
  ])('CKS-16 deletes nothing while %s', async (_, { askedSecondsAgo = 25_000, podOlderThanSeconds = 0 }) => {
    await bindForce()
    await addHeld(['a'])
    const policy = { ...FORCE, force: { ...FORCE.force, podOlderThanSeconds } }
    const limitSeconds = askedSecondsAgo + 4

    await expect(bed.drain({ policy, askedSecondsAgo, limitSeconds })).rejects.toMatchObject({
      type: 'DrainBlocked',
    })

    expect(await bed.requests({ verb: 'delete' })).toEqual([])
    expect(await lastForced()).toBeNull()
  })

  it('CKS-16 deletes nothing while the cluster’s last forced deletion is young, whoever did it', async () => {
    await bindForce()
    await addHeld(['a'])
    const { records } = await bed.parts.open({})
    const { value, version } = await records.read(patient())
    const theirs = { at: new Date(Date.now() - 3_000_000).toISOString(), pod: 'x/y', node: 'elsewhere' }
    await records.write({ ...value, lastForced: theirs }, version, patient())

    await expect(bed.drain({ ...LONG, limitSeconds: 25_004 })).rejects.toMatchObject({ type: 'DrainBlocked' })

    expect(await deletions()).toEqual([])
    expect(await lastForced()).toEqual(theirs)
  })

  it('B02 never forces a pod that terminates, nor takes a finalizer away', async () => {
    await bindForce()
    await bed.addPod('stuck', { finalizers: ['example.com/hold'] })
    await bed.parts.admin.ok('DELETE', `${PODS}/stuck`)

    await expect(bed.drain({ ...LONG, limitSeconds: 25_003 })).rejects.toMatchObject({ type: 'DrainBlocked' })

    expect(await bed.requests({ verb: 'delete' })).toEqual([])
    expect((await bed.parts.admin.ok('GET', `${PODS}/stuck`)).metadata.finalizers).toEqual([
      'example.com/hold',
    ])
  })

  /** Lets `act` happen after the turn is taken, right before the pod would be deleted. */
  function onceTurnIsTaken(act: () => Promise<unknown>): void {
    bed.parts.proxy.on(
      ({ method, path, body }) =>
        method !== 'GET' && path.includes('/configmaps') && body.includes('lastForced'),
      async () => {
        await act()
        return undefined
      },
      { times: 1 },
    )
  }

  it('CKS-24 deletes nothing when it has lost its Lease since it last looked', async () => {
    await bindForce()
    await addHeld(['a'])
    onceTurnIsTaken(() => bed.loseLease())

    await expect(bed.drain(LONG)).rejects.toMatchObject({ type: 'LeaseLost' })

    expect(await deletions()).toEqual([])
  })

  it('CKS-16 deletes no pod that its budget has let go meanwhile', async () => {
    await bindForce()
    const [pod] = await addHeld(['a'], 300)
    onceTurnIsTaken(async () => {
      await bed.parts.admin.ok('DELETE', `${BUDGETS}/held`)
      await bed.untilEvicted('a')
    })
    const drain = bed.start(LONG)
    await drain.untilWaitsFor(/^pod default\/a is terminating/)
    await bed.endPod('a')

    expect(await drain.end).toMatchObject({ warnings: [] })
    expect(pod?.metadata.name).toBe('a')
    expect(await deletions()).toEqual([])
  })

  it.each([
    ['a webhook', 403, 'admission webhook "keep" denied the request: a is precious'],
    ['the API server', 422, 'a is no good'],
  ])(
    'CKS-16 what %s says against one deletion is told as it is, and no missing role',
    async (_, code, message) => {
      await bindForce()
      await addHeld(['a'])
      bed.parts.proxy.on({ method: 'DELETE' }, answer(code, { kind: 'Status', code, message }))

      const end = bed.drain({ ...LONG, limitSeconds: 25_004 })

      await expect(end).rejects.toMatchObject({
        type: 'DrainBlocked',
        message: expect.stringContaining(message),
      })
      await expect(end).rejects.not.toThrow('ClusterRole')
      expect(await lastForced()).toBeNull()
    },
  )

  it('CKS-16 without the permission nothing is forced, no turn is used up, and the missing role is named', async () => {
    await addHeld(['a'])

    await expect(bed.drain({ ...LONG, limitSeconds: 25_004 })).rejects.toMatchObject({
      type: 'DrainBlocked',
      message: expect.stringContaining('needs the ClusterRole noderoll-force (deploy/rbac.yaml)'),
    })

    expect(await lastForced()).toBeNull()
    expect((await bed.parts.admin.ok('GET', `${PODS}/a`)).metadata.deletionTimestamp).toBeUndefined()
    expect((await bed.parts.admin.ok('GET', `${NODES}/w-1`)).spec.unschedulable).toBe(true)
  })
})
