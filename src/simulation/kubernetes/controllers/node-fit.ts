import type { Node, Taint } from '../kinds/node.js'
import type { NodeRequirement, NodeSelectorTerm, PodSpec, Toleration } from '../kinds/pod-spec.js'
import { holds } from '../objects/label-selector.js'

/** Do the pod's own wishes allow this node? */
export function isWanted({ nodeSelector = {}, affinity }: PodSpec, node: Node): boolean {
  const labels = node.metadata.labels ?? {}
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  return (
    Object.entries(nodeSelector).every(([key, value]) => labels[key] === value) &&
    (required === undefined || required.nodeSelectorTerms.some((term) => meetsTerm(term, node)))
  )
}

/** How much the pod would like this node rather than another. */
export function preferenceFor({ affinity }: PodSpec, node: Node): number {
  const preferred = affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []
  return preferred
    .filter(({ preference }) => meetsTerm(preference, node))
    .reduce((sum, { weight }) => sum + weight, 0)
}

/** The taints that keep the pod away. */
export function untolerated(
  { tolerations = [] }: PodSpec,
  { spec }: Node,
  effects: readonly Taint['effect'][],
): readonly Taint[] {
  return (spec.taints ?? []).filter(
    (taint) => effects.includes(taint.effect) && !tolerations.some((one) => tolerates(one, taint)),
  )
}

function tolerates({ key = '', operator = 'Equal', value = '', effect }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false
  if (key === '') return operator === 'Exists'
  return key === taint.key && (operator === 'Exists' || value === (taint.value ?? ''))
}

/** An empty term means no node. */
function meetsTerm(
  { matchExpressions = [], matchFields = [] }: NodeSelectorTerm,
  { metadata }: Node,
): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false
  return (
    matchExpressions.every((one) => meets(one, metadata.labels?.[one.key])) &&
    matchFields.every((one) => one.key === 'metadata.name' && meets(one, metadata.name))
  )
}

/** Nodes know two comparisons more than label selectors do. */
function meets(one: NodeRequirement, value: string | undefined): boolean {
  const { operator, values = [] } = one
  if (operator === 'Gt') return Number(value) > Number(values[0])
  if (operator === 'Lt') return Number(value) < Number(values[0])
  return holds(one, value)
}
