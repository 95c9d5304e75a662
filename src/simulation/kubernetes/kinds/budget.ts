import type { ApiObject, Condition } from '../objects/api-object.js'
import type { LabelSelector } from '../objects/label-selector.js'
import { defineResource, type FieldProblem } from '../objects/resource.js'

export interface Budget extends ApiObject {
  readonly spec: BudgetSpec
  readonly status: BudgetStatus
}

export interface BudgetSpec {
  readonly minAvailable?: number | string
  readonly maxUnavailable?: number | string
  readonly selector?: LabelSelector
  readonly unhealthyPodEvictionPolicy?: 'IfHealthyBudget' | 'AlwaysAllow'
}

export interface BudgetStatus {
  readonly observedGeneration?: number
  /** By pod name, when its eviction was accepted: counted as gone until it really goes. */
  readonly disruptedPods?: Readonly<Record<string, string>>
  readonly disruptionsAllowed: number
  readonly currentHealthy: number
  readonly desiredHealthy: number
  readonly expectedPods: number
  readonly conditions?: readonly Condition[]
}

const UNCOUNTED: BudgetStatus = {
  disruptionsAllowed: 0,
  currentHealthy: 0,
  desiredHealthy: 0,
  expectedPods: 0,
}

export const BUDGETS = defineResource<Budget>({
  group: 'policy',
  kind: 'PodDisruptionBudget',
  namespaced: true,
  shortNames: ['pdb'],
  hasStatus: true,
  hasGeneration: true,
  // An update must say which version it means.
  unconditionalUpdate: false,
  complete: (object, stored) => ({
    ...object,
    spec: object.spec ?? {},
    status: stored === null ? UNCOUNTED : { ...UNCOUNTED, ...object.status },
  }),
  problems({ spec }) {
    const problems: FieldProblem[] = []
    if (spec.minAvailable !== undefined && spec.maxUnavailable !== undefined) {
      const message = 'Invalid value: minAvailable and maxUnavailable cannot be both set'
      problems.push({ reason: 'FieldValueInvalid', field: 'spec', message })
    }
    for (const name of ['minAvailable', 'maxUnavailable'] as const) {
      const value = spec[name]
      const said = `Invalid value: ${JSON.stringify(value)}: `
      const field = `spec.${name}`
      if (typeof value === 'string' && !/^\d+%$/.test(value)) {
        const message = `${said}a valid percent string must be a numeric string followed by an ending '%'`
        problems.push({ reason: 'FieldValueInvalid', field, message })
      } else if (typeof value === 'string' && Number.parseInt(value, 10) > 100) {
        problems.push({ reason: 'FieldValueInvalid', field, message: `${said}must not be greater than 100%` })
      } else if (typeof value === 'number' && value < 0) {
        const message = `${said}must be greater than or equal to 0`
        problems.push({ reason: 'FieldValueInvalid', field, message })
      }
    }
    return problems
  },
})
