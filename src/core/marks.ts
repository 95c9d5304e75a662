import { NOTHING_ADDED, priors } from './additions.js'
import type {
  ActingMark,
  Added,
  AttemptMark,
  FailureMark,
  Marks,
  NodeChange,
  NodeRecord,
  QuarantineMark,
} from './model.js'

/** Annotation keys. Their meaning is in docs/concepts.md. */
export const MARK_KEYS = {
  bootId: 'noderoll.io/rollout-boot-id',
  attempt: 'noderoll.io/attempt',
  acting: 'noderoll.io/acting',
  failure: 'noderoll.io/failure',
  quarantine: 'noderoll.io/quarantine',
} as const

/** Reads our annotations off a node. One that is there and cannot be read is listed, never taken for absent. */
export function parseMarks(annotations: Readonly<Record<string, string>>): Marks {
  const unreadable: string[] = []
  const read = <T>(key: string, parse: (text: string) => T | null): T | null => {
    const text = annotations[key]
    if (text === undefined) return null
    const value = parse(text)
    if (value === null) unreadable.push(key)
    return value
  }
  return {
    // An empty boot id would differ from every real one, and so pass for "rebooted".
    bootId: read(MARK_KEYS.bootId, (text) => (text.trim() === '' ? null : text)),
    attempt: read(MARK_KEYS.attempt, parseAttempt),
    acting: read(MARK_KEYS.acting, parseActing),
    failure: read(MARK_KEYS.failure, parseFailure),
    quarantine: read(MARK_KEYS.quarantine, parseQuarantine),
    unreadable,
  }
}

/** The annotation's text: the same mark always gives the same text, so that a repeated write changes nothing. */
export function attemptAnnotation(attempt: AttemptMark): string {
  const { rollout, run, token, at, bootId, uid, added, foundMarked } = attempt
  const sortedAdded = { labels: sorted(added.labels), annotations: sorted(added.annotations) }
  return JSON.stringify({ rollout, run, token, at, bootId, uid, added: sortedAdded, foundMarked })
}

/** As `attemptAnnotation`, for the mark before the first act. */
export function actingAnnotation({ act, at, rollout, token }: ActingMark): string {
  return JSON.stringify({ act, at, rollout, token })
}

/** As `attemptAnnotation`, for the failure mark. */
export function failureAnnotation({ step, reason, machine, at, rollout }: FailureMark): string {
  return JSON.stringify({ step, reason, machine, at, rollout })
}

/** As `attemptAnnotation`, for the quarantine mark. */
function quarantineAnnotation({ reason, at, rollout }: QuarantineMark): string {
  return JSON.stringify({ reason, at, rollout })
}

/**
 * The write that leaves a node in quarantine: cordoned, marked, and without what was added for the work on it, since
 * nobody works on it any more and the pods that stayed still serve. Null when it is so already.
 */
export function quarantineChange(
  node: Pick<NodeRecord, 'marks' | 'labels' | 'annotations' | 'unschedulable'>,
  attempt: AttemptMark,
  mark: QuarantineMark,
): NodeChange | null {
  const { quarantine } = node.marks
  const { labels, annotations } = priors(node, attempt.added)
  const same = quarantine !== null && quarantineAnnotation(quarantine) === quarantineAnnotation(mark)
  if (same && node.unschedulable && !addsAnything(attempt)) return null
  return {
    unschedulable: true,
    labels,
    annotations: {
      ...annotations,
      [MARK_KEYS.attempt]: attemptAnnotation({ ...attempt, added: NOTHING_ADDED }),
      [MARK_KEYS.quarantine]: quarantineAnnotation(mark),
    },
  }
}

/** As `quarantineChange`, for a node that goes back to the quarantine it was in; null where there is nothing to write. */
export function backToQuarantineChange(node: NodeRecord): NodeChange | null {
  const { attempt, quarantine } = node.marks
  if (attempt === null || quarantine === null || !addsAnything(attempt)) return null
  return quarantineChange(node, attempt, quarantine)
}

function addsAnything({ added }: AttemptMark): boolean {
  return Object.keys(added.labels).length + Object.keys(added.annotations).length > 0
}

/**
 * The write that takes everything of ours off a node: the marks go, what we added gets its prior value back.
 * It uncordons only a node that we cordoned (it has a boot-id mark), and only when asked to. `added` stands in for an
 * attempt mark that somebody has taken away.
 */
export function clearMarksChange(
  node: Pick<NodeRecord, 'marks' | 'labels' | 'annotations'>,
  options: { readonly uncordon: boolean; readonly added?: Added },
): NodeChange {
  const { marks } = node
  const { labels, annotations } = priors(node, marks.attempt?.added ?? options.added ?? NOTHING_ADDED)
  const gone = Object.fromEntries(Object.values(MARK_KEYS).map((key) => [key, null]))
  return {
    ...(options.uncordon && marks.bootId !== null ? { unschedulable: false } : {}),
    labels,
    annotations: { ...annotations, ...gone },
  }
}

function parseAttempt(text: string): AttemptMark | null {
  const fields = parseObject(text)
  if (!hasStrings(fields, ['rollout', 'run', 'token', 'at', 'uid'])) return null
  const { rollout, run, token, at, uid, bootId } = fields
  if (bootId !== null && typeof bootId !== 'string') return null
  const added = parseAdded(fields.added)
  if (added === null) return null
  const { foundMarked } = fields
  const mark = { rollout, run, token, at, bootId, uid, added }
  return typeof foundMarked === 'boolean' ? { ...mark, foundMarked } : mark
}

function parseActing(text: string): ActingMark | null {
  const fields = parseObject(text)
  if (!hasStrings(fields, ['act', 'at', 'rollout', 'token'])) return null
  const { act, at, rollout, token } = fields
  return { act, at, rollout, token }
}

function parseFailure(text: string): FailureMark | null {
  const fields = parseObject(text)
  if (!hasStrings(fields, ['step', 'reason', 'machine', 'at', 'rollout'])) return null
  const { step, reason, machine, at, rollout } = fields
  return { step, reason, machine, at, rollout }
}

function parseQuarantine(text: string): QuarantineMark | null {
  const fields = parseObject(text)
  if (!hasStrings(fields, ['reason', 'at', 'rollout'])) return null
  const { reason, at, rollout } = fields
  return { reason, at, rollout }
}

function parseAdded(value: unknown): Added | null {
  if (!isObject(value)) return null
  const { labels, annotations } = value
  return isPriors(labels) && isPriors(annotations) ? { labels, annotations } : null
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

function hasStrings<K extends string>(
  fields: Record<string, unknown>,
  keys: readonly K[],
): fields is Record<string, unknown> & Record<K, string> {
  return keys.every((key) => typeof fields[key] === 'string')
}

function isPriors(value: unknown): value is Record<string, string | null> {
  return isObject(value) && Object.values(value).every((prior) => prior === null || typeof prior === 'string')
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function sorted<T>(record: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)))
}
