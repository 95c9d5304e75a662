/** What a drain decides on. Gathered first; the decisions are in `drain.ts`. */
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
  /** Seconds since the deletion was asked for, by the server's clock; null when it was not. */
  readonly deletionAgeSeconds: number | null
  readonly finalizers: readonly string[]
  readonly mirror: boolean
  readonly controller: { readonly apiVersion: string; readonly kind: string; readonly name: string } | null
  readonly emptyDir: boolean
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
