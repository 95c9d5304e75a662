import type { Batch, BatchNode } from './batch.js'
import { batchNodeName } from './batch.js'
import { type BudgetRecord, type PodRecord, selectsLabels } from './pods.js'

/** The pods of one node, as read when its batch is decided. */
export interface NodePods {
  readonly node: string
  readonly pods: readonly PodRecord[]
}

/** Does a budget watch over this pod? No selector selects nothing, an empty one every pod of the namespace. */
export function selectsPod(budget: BudgetRecord, pod: Pick<PodRecord, 'namespace' | 'labels'>): boolean {
  return (
    budget.namespace === pod.namespace &&
    budget.selector !== null &&
    selectsLabels(budget.selector, pod.labels)
  )
}

/**
 * Can this budget never allow an eviction, as its workload is now? All its pods are healthy, and it needs all of them:
 * nothing that heals by itself would change that. One whose pods are not all healthy may heal (machine-controller-manager's rule).
 */
export function isHopeless(budget: BudgetRecord): boolean {
  const { expectedPods, currentHealthy, desiredHealthy, disruptionsAllowed } = budget
  return (
    expectedPods > 0 &&
    disruptionsAllowed === 0 &&
    currentHealthy >= expectedPods &&
    desiredHealthy >= expectedPods
  )
}

/** A hopeless budget in a sentence that says what to do; `nodes` are those it would hold up, where that is known. */
export function sayHopeless(budget: BudgetRecord, nodes: readonly string[]): string {
  const { desiredHealthy, expectedPods, currentHealthy } = budget
  const where = nodes.length === 0 ? '' : ` and has pods on ${nodes.join(', ')}`
  return (
    `budget ${budgetName(budget)} can never allow an eviction (needs ${desiredHealthy} healthy of ${expectedPods} pods, ` +
    `has ${currentHealthy})${where}: a drain would not end. Let it allow one (maxUnavailable of at least 1) or add a pod`
  )
}

/**
 * Takes nodes out of a batch until no two that are left share a budget that allows fewer evictions than their pods need
 * (the drains would hold each other up). The first node always goes; the others come in a later batch. Says why.
 */
export function withoutSharedBudgets(
  batch: Batch,
  podsOf: readonly NodePods[],
  budgets: readonly BudgetRecord[],
): { readonly batch: Batch; readonly notes: readonly string[] } {
  const evictable = new Map(podsOf.map(({ node, pods }) => [node, pods.filter(needsItsBudget)]))
  const together: BatchNode[] = []
  const spent = new Map<BudgetRecord, { pods: number; nodes: string[] }>()
  const notes: string[] = []
  for (const node of batch.nodes) {
    const name = batchNodeName(node)
    const pods = evictable.get(name) ?? []
    const needs = budgets
      .map((budget) => ({ budget, count: pods.filter((pod) => selectsPod(budget, pod)).length }))
      .filter(({ count }) => count > 0)
    const clash = needs.find(({ budget, count }) => {
      const others = spent.get(budget)
      return others !== undefined && others.pods + count > budget.disruptionsAllowed
    })
    if (clash !== undefined) {
      const others = spent.get(clash.budget)?.nodes.join(', ')
      notes.push(
        `${name} comes after ${others}: budget ${budgetName(clash.budget)} allows ${clash.budget.disruptionsAllowed} at a time, and they all have pods of it`,
      )
      continue
    }
    together.push(node)
    for (const { budget, count } of needs) {
      const so = spent.get(budget) ?? { pods: 0, nodes: [] }
      spent.set(budget, { pods: so.pods + count, nodes: [...so.nodes, name] })
    }
  }
  return { batch: { ...batch, nodes: together }, notes }
}

/** Nodes whose pods a budget watches over, of those given. */
export function nodesUnder(budget: BudgetRecord, podsOf: readonly NodePods[]): string[] {
  return podsOf
    .filter(({ pods }) => pods.some((pod) => needsItsBudget(pod) && selectsPod(budget, pod)))
    .map(({ node }) => node)
}

/** Pods of DaemonSets and static ones stay; the API server evicts the others past their budgets unless they run. */
function needsItsBudget({ mirror, terminating, phase, controller }: PodRecord): boolean {
  const stays = mirror || controller?.kind === 'DaemonSet'
  return !stays && !terminating && !['Pending', 'Succeeded', 'Failed'].includes(phase)
}

function budgetName({ namespace, name }: BudgetRecord): string {
  return `${namespace}/${name}`
}
