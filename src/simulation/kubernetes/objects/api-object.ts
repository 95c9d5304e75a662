/** What every stored object has. Objects are never changed in place: each write makes a new one. */
export interface ApiObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
  readonly spec?: unknown
  readonly status?: unknown
}

export interface ObjectMeta {
  readonly name: string
  readonly generateName?: string
  readonly namespace?: string
  readonly uid: string
  readonly resourceVersion: string
  /** Counts the changes of the spec, where the kind counts them. */
  readonly generation?: number
  readonly creationTimestamp: string
  /** When the grace period ends, not when the deletion was asked for. */
  readonly deletionTimestamp?: string
  readonly deletionGracePeriodSeconds?: number
  readonly labels?: Labels
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: readonly string[]
  readonly ownerReferences?: readonly OwnerReference[]
}

export type Labels = Readonly<Record<string, string>>

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

export interface Condition {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason?: string
  readonly message?: string
  readonly observedGeneration?: number
  readonly lastTransitionTime?: string | null
}

/** Any JSON object: an object as somebody sent it, or a part of one. */
export type JsonObject = Readonly<Record<string, unknown>>

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The part of a JSON object under a key, or an empty one when there is none. */
export function partOf(value: unknown, key: string): JsonObject {
  const part = isJsonObject(value) ? value[key] : undefined
  return isJsonObject(part) ? part : {}
}

/** The owner that looks after the object. */
export function controllerOf({ metadata }: ApiObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true)
}

export function isTerminating({ metadata }: ApiObject): boolean {
  return metadata.deletionTimestamp !== undefined
}

export function isTrue(conditions: readonly Condition[] | undefined, type: string): boolean {
  return conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false
}

/** Conditions with this one in it, whose time of transition is kept while its status is the same. */
export function withCondition(
  conditions: readonly Condition[] | undefined,
  condition: Condition,
  now: string,
): readonly Condition[] {
  const before = conditions?.find(({ type }) => type === condition.type)
  const changedAt = before?.status === condition.status ? (before.lastTransitionTime ?? now) : now
  const entry = { ...condition, lastTransitionTime: changedAt }
  if (before === undefined) return [...(conditions ?? []), entry]
  return (conditions ?? []).map((one) => (one === before ? entry : one))
}

/** Kubernetes writes whole seconds. */
export function timestamp(date = new Date()): string {
  return date.toISOString().replace(/\.\d+Z$/, 'Z')
}
