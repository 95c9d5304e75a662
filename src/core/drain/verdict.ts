/** What a drain does with one pod, always with its reason. */
export type PodVerdict =
  | { readonly kind: 'evict'; readonly why: string }
  /** Left alone, and not waited for. `givenUp`: it was to go and has not; a person should hear of it. */
  | { readonly kind: 'skip'; readonly why: string; readonly givenUp?: true }
  /** On its way out, or to be left to its end: waited for, never evicted (again) (B02). */
  | { readonly kind: 'wait'; readonly why: string }
  /** The policy forbids it: the drain is refused before the first eviction. */
  | { readonly kind: 'refuse'; readonly why: string }

export interface DrainFacts {
  /** `namespace/name` of the DaemonSets that pods name as owner and that exist. */
  readonly daemonSets: ReadonlySet<string>
  /** How long nobody has heard of the node's kubelet: nobody may be there to end its pods. */
  readonly silentSeconds: number
}
