import { z } from 'zod'
import type { DrainPolicy, PodSelector } from '../core/spec.js'
import { duration } from './fields.js'

/** Label requirements in the form of the Kubernetes API; all of them must hold. */
const requirement = z
  .strictObject({
    key: z.string().min(1),
    operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
    values: z.array(z.string()).default([]),
  })
  .refine(({ operator, values }) => operator.endsWith('In') === values.length > 0, {
    message: 'In and NotIn need values; Exists and DoesNotExist take none',
  })

const podSelector = z
  .strictObject({
    namespace: z.string().min(1).optional().describe('only pods of this namespace; default: of every one'),
    matchLabels: z.record(z.string().min(1), z.string()).default({}),
    matchExpressions: z.array(requirement).default([]),
  })
  .refine(
    ({ namespace, matchLabels, matchExpressions }) =>
      namespace !== undefined || Object.keys(matchLabels).length + matchExpressions.length > 0,
    'selects every pod; name a namespace, a label or an expression',
  )

const order = z
  .union(
    [
      z.enum(['together', 'criticalLast', 'priority']),
      z.array(z.union([z.literal('rest'), podSelector])).min(1),
    ],
    'expected together, criticalLast, priority, or a list of pod selectors',
  )
  .describe(
    'together: all at once; criticalLast: pods of the system-* priority classes when all others are gone; ' +
      'priority: lowest priority first, each gone before the next; a list: the pods of each selector gone before the next, ' +
      'all other pods where `rest` stands (at the end where it does not)',
  )

const force = z
  .strictObject({
    drainOlderThan: duration(1).default(21_600).describe('the drain has lasted this long'),
    lastForcedOlderThan: duration(1)
      .default(3_600)
      .describe('no pod of the cluster was deleted by force for this long'),
    podOlderThan: duration(1).default(86_400).describe('the pod was created this long ago'),
  })
  .describe('for onBlocked: force; all three must have passed before a single pod is deleted past its budget')

/** How nodes are drained; every policy is explained in docs/drain.md. */
export const drain = z.strictObject({
  timeout: duration(1).default(900).describe('a drain that has not ended by then has failed'),
  gracePeriod: duration(0)
    .refine(Number.isInteger, 'expected whole seconds')
    .optional()
    .describe('overrides the grace period of every pod'),
  barePods: z.enum(['refuse', 'evict']).default('refuse').describe('pods that nothing would bring back'),
  emptyDir: z.enum(['refuse', 'delete']).default('delete').describe('pods that keep data in an emptyDir'),
  parallelEvictions: z
    .int()
    .min(1)
    .max(200)
    .default(20)
    .describe('eviction requests of one drain under way at once'),
  order: order.default('criticalLast'),
  skip: z.array(podSelector).default([]).describe('pods left on the node, and not waited for'),
  waitCompleted: z
    .array(podSelector)
    .default([])
    .describe(
      'pods that are not evicted but waited for until they have run to their end, such as those of Jobs',
    ),
  skipWaitForDelete: duration(1)
    .optional()
    .describe(
      'a pod that still terminates this long after the end of its own grace is no longer waited for; default: always waited for',
    ),
  unreachableWait: duration(1)
    .default(300)
    .describe(
      'on a node whose kubelet is silent nobody ends pods: terminating ones are waited for no longer than this',
    ),
  volumes: z
    .enum(['detach', 'ignore'])
    .default('detach')
    .describe('detach: the drain ends when the volumes of the pods that went are detached from the node'),
  loadBalancerSettle: duration(0)
    .default(0)
    .describe('time between taking the node out of external load balancers and the first eviction'),
  onBlocked: z
    .enum(['stop', 'quarantine', 'force'])
    .default('stop')
    .describe(
      'a drain that cannot end: stop puts the node back and stops the rollout; quarantine leaves a worker cordoned and ' +
        'marked, goes on with others and tries it again at the end; force deletes one pod at a time past its budget',
    ),
  quarantineLimit: z
    .int()
    .min(1)
    .default(3)
    .describe('nodes in quarantine at once; with one more blocked the rollout stops'),
  force: force.prefault({}),
})

type CheckedDrain = z.output<typeof drain>

/** What is wrong between the fields of `drain`: where, what, and what to write instead. */
export function drainProblems(checked: CheckedDrain): { where: string; what: string; fix: string }[] {
  const { onBlocked, timeout, loadBalancerSettle } = checked
  const problems = []
  if (onBlocked === 'force' && checked.force.drainOlderThan >= timeout) {
    problems.push({
      where: 'drain.force.drainOlderThan',
      what: `${checked.force.drainOlderThan} s is not reached within drain.timeout (${timeout} s): nothing would ever be forced`,
      fix: 'lengthen drain.timeout (and batchTimeout), or shorten it',
    })
  }
  if (loadBalancerSettle >= timeout) {
    problems.push({
      where: 'drain.loadBalancerSettle',
      what: `${loadBalancerSettle} s leaves nothing of drain.timeout (${timeout} s) to evict pods in`,
      fix: 'lengthen drain.timeout (and batchTimeout), or shorten it',
    })
  }
  return problems
}

/** The policy with every default filled in. */
export function toDrainPolicy(checked: CheckedDrain): DrainPolicy {
  const { order: asked } = checked
  return {
    timeoutSeconds: checked.timeout,
    gracePeriodSeconds: checked.gracePeriod ?? null,
    barePods: checked.barePods,
    emptyDir: checked.emptyDir,
    parallelEvictions: checked.parallelEvictions,
    order:
      typeof asked === 'string'
        ? { by: asked }
        : { by: 'selectors', groups: asked.map((one) => (one === 'rest' ? one : toPodSelector(one))) },
    skip: checked.skip.map(toPodSelector),
    waitCompleted: checked.waitCompleted.map(toPodSelector),
    skipWaitForDeleteSeconds: checked.skipWaitForDelete ?? null,
    unreachableWaitSeconds: checked.unreachableWait,
    volumes: checked.volumes,
    loadBalancerSettleSeconds: checked.loadBalancerSettle,
    onBlocked: checked.onBlocked,
    quarantineLimit: checked.quarantineLimit,
    force: {
      drainOlderThanSeconds: checked.force.drainOlderThan,
      lastForcedOlderThanSeconds: checked.force.lastForcedOlderThan,
      podOlderThanSeconds: checked.force.podOlderThan,
    },
  }
}

function toPodSelector(one: z.output<typeof podSelector>): PodSelector {
  return {
    namespace: one.namespace ?? null,
    matchLabels: one.matchLabels,
    matchExpressions: one.matchExpressions,
  }
}
