import type { Added, NodeRecord } from './model.js'

/** What a mark says that was added where nothing was. */
export const NOTHING_ADDED: Added = { labels: {}, annotations: {} }

/** Service controllers of clouds take a node that carries it out of their load balancers. Its presence counts. */
export const EXCLUDE_FROM_LOAD_BALANCERS = 'node.kubernetes.io/exclude-from-external-load-balancers'

/** What tells autoscalers that a node which is empty for a while is not idle. */
const PROTECTIONS: Readonly<Record<string, string>> = {
  'cluster-autoscaler.kubernetes.io/scale-down-disabled': 'true',
  'karpenter.sh/do-not-disrupt': 'true',
}

/** The annotations that a `NodeRecord` keeps. */
export const ADDED_ANNOTATIONS = Object.keys(PROTECTIONS)

type Carries = Pick<NodeRecord, 'labels' | 'annotations'>

/** Labels or annotations to be written; null removes. */
interface Values {
  readonly labels: Readonly<Record<string, string | null>>
  readonly annotations: Readonly<Record<string, string | null>>
}

const NOTHING: Added = { labels: {}, annotations: {} }

/**
 * What a node gets beside the marks while it is worked on: `values` to write, and `added` for the attempt mark, with
 * the value each had before. `earlier` is what an earlier attempt had added: where its value still stands, so does the
 * prior it recorded. A label that is there already was set by somebody else, and stays theirs.
 */
export function additions(node: Carries, earlier: Added | null): { added: Added; values: Values } {
  const before = earlier ?? NOTHING
  const added = { labels: { ...before.labels }, annotations: { ...before.annotations } }
  const labels: Record<string, string> = {}
  const annotations: Record<string, string> = {}
  const found = node.labels[EXCLUDE_FROM_LOAD_BALANCERS]
  if (found === undefined) {
    labels[EXCLUDE_FROM_LOAD_BALANCERS] = ''
    added.labels[EXCLUDE_FROM_LOAD_BALANCERS] = null
  } else if (found !== '') delete added.labels[EXCLUDE_FROM_LOAD_BALANCERS]
  for (const [key, value] of Object.entries(PROTECTIONS)) {
    if (node.annotations[key] === value) continue
    annotations[key] = value
    added.annotations[key] = node.annotations[key] ?? null
  }
  return { added, values: { labels, annotations } }
}

/**
 * The prior values of what was added. A value that is no longer as we set it was changed by somebody else since: it is
 * theirs, and stays. What another version of noderoll added goes back in any case; nobody here knows its value.
 */
export function priors(node: Carries, added: Added): Values {
  return {
    labels: stillOurs(added.labels, node.labels, { [EXCLUDE_FROM_LOAD_BALANCERS]: '' }),
    annotations: stillOurs(added.annotations, node.annotations, PROTECTIONS),
  }
}

function stillOurs(
  priorOf: Readonly<Record<string, string | null>>,
  now: Readonly<Record<string, string>>,
  weSet: Readonly<Record<string, string>>,
): Record<string, string | null> {
  return Object.fromEntries(
    Object.entries(priorOf).filter(([key]) => weSet[key] === undefined || now[key] === weSet[key]),
  )
}
