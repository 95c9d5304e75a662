/** What a drain decides on. Gathered first; the decisions are in `drain/`. */
export interface PodRecord {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly nodeName: string | null
  readonly labels: Readonly<Record<string, string>>
  /** Phase as the object says it; some real objects carry words that are no legal phase. */
  readonly phase: string
  readonly ready: boolean
  readonly terminating: boolean
  /** Seconds since it was created, by the server's clock; null when the object does not say. */
  readonly ageSeconds: number | null
  /** Seconds since the deletion was asked for, by the server's clock; null when it was not. */
  readonly deletionAgeSeconds: number | null
  /** Seconds since the grace period of its deletion ended, by the server's clock; 0 before, null when there is none. */
  readonly overdueSeconds: number | null
  readonly finalizers: readonly string[]
  readonly mirror: boolean
  readonly controller: { readonly apiVersion: string; readonly kind: string; readonly name: string } | null
  readonly emptyDir: boolean
  /** Names of its PersistentVolumeClaims, those of generic ephemeral volumes included. */
  readonly claims: readonly string[]
  readonly priority: number
  readonly priorityClass: string | null
}

export interface BudgetRecord {
  readonly namespace: string
  readonly name: string
  readonly selector: LabelSelector | null
  readonly disruptionsAllowed: number
  readonly currentHealthy: number
  readonly desiredHealthy: number
  readonly expectedPods: number
}

export interface LabelSelector {
  readonly matchLabels: Readonly<Record<string, string>>
  readonly matchExpressions: readonly {
    readonly key: string
    readonly operator: string
    readonly values: readonly string[]
  }[]
}

export function podName(pod: Pick<PodRecord, 'namespace' | 'name'>): string {
  return `${pod.namespace}/${pod.name}`
}

/**
 * Does a selector of the Kubernetes API select these labels? An empty one selects everything. `NotIn` also selects what
 * lacks the key. What a later Kubernetes may mean by an operator is unknown, and unknown is never "not selected": a
 * budget would seem to watch over nothing.
 */
export function selectsLabels(
  { matchLabels, matchExpressions }: LabelSelector,
  labels: Readonly<Record<string, string>>,
): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values }) => {
      const value = labels[key]
      switch (operator) {
        case 'In':
          return value !== undefined && values.includes(value)
        case 'NotIn':
          return value === undefined || !values.includes(value)
        case 'Exists':
          return value !== undefined
        case 'DoesNotExist':
          return value === undefined
        default:
          return true
      }
    })
  )
}
