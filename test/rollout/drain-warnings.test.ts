import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { nodeEvents } from '../support/batch-nodes.js'
import { addBudget, PODS, podsOf, runWorkload } from '../support/batch-pods.js'
import { onlyW1OutOfDate } from '../support/drain-story.js'
import { RolloutBed } from '../support/rollout-bed.js'
import { waitUntil } from '../support/wait.js'

describe('what a drain leaves or deletes otherwise than by eviction', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  const TO_LARGE = { pools: { worker: { offering: 'large' } } }

  it('CKS-16 what was deleted past its budget is in the result and an event on the node', async () => {
    await bed.startCluster({ workers: 2 })
    onlyW1OutOfDate(bed)
    await allowForce()
    await runWorkload(bed.kube.api, 'Deployment', 'held', { on: 'w-1' })
    await addBudget(bed.kube.api, 'held', 1)
    const [pod] = await podsOf(bed.kube.api, 'held')
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const limits = { drainOlderThan: '1s', lastForcedOlderThan: '1s', podOlderThan: '1s' }
    const end = await bed.roll({ ...TO_LARGE, drain: { timeout: '20s', onBlocked: 'force', force: limits } })

    const warning = expect.stringMatching(
      `^pod default/${pod?.metadata.name} on w-1 was deleted although budget default/held needs 1 healthy, has 1: `,
    )
    expect(end).toMatchObject({
      kind: 'completed',
      // The plan had said so before.
      result: {
        done: { names: ['w-1'] },
        warnings: [expect.stringContaining('can never allow an eviction'), warning],
      },
    })
    expect(await warningsOn('w-1')).toEqual([['DeletedPastBudget', warning]])
    await bed.kube.audit.settled()
    const deletions = await bed.kube.audit.since(position, { user: 'noderoll', verb: 'delete' })
    const inEarnest = deletions.filter(({ requestBody }) => requestBody?.dryRun === undefined)
    expect(inEarnest.map(({ name, requestBody }) => [name, requestBody?.preconditions?.uid])).toEqual([
      [pod?.metadata.name, pod?.metadata.uid],
    ])
  })

  it('B02 a pod that is no longer waited for is in the result and an event on the node', async () => {
    await bed.startCluster({ workers: 2 })
    onlyW1OutOfDate(bed)
    await runWorkload(bed.kube.api, 'Deployment', 'sticky', { on: 'w-1', finalizers: ['example.com/hold'] })
    const [pod] = await podsOf(bed.kube.api, 'sticky')
    await bed.startWorker()

    const end = await bed.roll({ ...TO_LARGE, drain: { timeout: '20s', skipWaitForDelete: '1s' } })

    const warning = `pod default/${pod?.metadata.name} on w-1 was not waited for: terminating for longer than drain.skipWaitForDelete`
    expect(end).toMatchObject({
      kind: 'completed',
      result: { done: { names: ['w-1'] }, warnings: [warning] },
    })
    expect(await warningsOn('w-1')).toEqual([['NotWaitedFor', warning]])
    expect(await bed.kube.api.ok('GET', `${PODS}/${pod?.metadata.name}`)).toMatchObject({
      metadata: { uid: pod?.metadata.uid, finalizers: ['example.com/hold'] },
    })
  })

  /** What an operator does who wants drains to be forced. */
  async function allowForce(): Promise<void> {
    const bindings = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'
    const name = 'noderoll-force'
    await bed.kube.api.ok('POST', bindings, {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'noderoll' }],
    })
    onTestFinished(async () => {
      await bed.kube.api.ok('DELETE', `${bindings}/${name}`)
    })
    const noderoll = bed.kube.apiOf('noderoll')
    const tried = () => noderoll.call('DELETE', `${PODS}/no-such-pod?dryRun=All`)
    await waitUntil(async () => (await tried()).status === 404, { for: 'the rule to be known' })
    noderoll.close()
  }

  async function warningsOn(node: string): Promise<[string, string][]> {
    const warnings = (await nodeEvents(bed, node)).filter(({ type }) => type === 'Warning')
    return warnings.map(({ reason, message }) => [reason, message])
  }
})
