import type { Node, Taint } from '../kinds/node.js'
import type { NodeRequirement, NodeSelectorTerm, PodSpec, Toleration } from '../kinds/pod-spec.js'

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

function meets({ operator, values = [] }: NodeRequirement, value: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value)
    case 'NotIn':
      return value === undefined || !values.includes(value)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
    case 'Gt':
      return Number(value) > Number(values[0])
    case 'Lt':
      return Number(value) < Number(values[0])
    default:
      return false
  }
}
