import { z } from 'zod'
import type { BudgetRecord } from '../../core/pods.js'
import { METADATA, understood } from './objects.js'

const BUDGET = z.object({
  metadata: METADATA,
  spec: z
    .object({
      selector: z
        .object({
          matchLabels: z.record(z.string(), z.string()).nullish(),
          matchExpressions: z
            .array(z.object({ key: z.string(), operator: z.string(), values: z.array(z.string()).nullish() }))
            .nullish(),
        })
        .nullish(),
    })
    .nullish(),
  status: z
    .object({
      disruptionsAllowed: z.number().nullish(),
      currentHealthy: z.number().nullish(),
      desiredHealthy: z.number().nullish(),
      expectedPods: z.number().nullish(),
    })
    .nullish(),
})

/** An item of a list of PodDisruptionBudgets. A budget that no controller has counted yet allows nothing. */
export function readBudget(item: unknown): BudgetRecord {
  const { metadata, spec, status } = understood(item, BUDGET, 'read the disruption budgets')
  const selector = spec?.selector
  return {
    namespace: metadata.namespace ?? 'default',
    name: metadata.name,
    // None at all selects no pod; an empty one, every pod of the namespace.
    selector: selector
      ? {
          matchLabels: selector.matchLabels ?? {},
          matchExpressions: (selector.matchExpressions ?? []).map(({ key, operator, values }) => ({
            key,
            operator,
            values: values ?? [],
          })),
        }
      : null,
    disruptionsAllowed: status?.disruptionsAllowed ?? 0,
    currentHealthy: status?.currentHealthy ?? 0,
    desiredHealthy: status?.desiredHealthy ?? 0,
    expectedPods: status?.expectedPods ?? 0,
  }
}
