import type { EtcdMember, EtcdView } from './model.js'
import { whyDown } from './quorum.js'

/** What one member, or those that know it, said about it. */
export interface SeenMember {
  /** 64-bit id as decimal text. */
  readonly id: string
  readonly name: string
  readonly learner: boolean
  readonly health: EtcdMember['health']
  /** Last raft index it has applied, as decimal text; null where it did not tell. */
  readonly appliedIndex: string | null
  /** Id of the member it takes for the leader; null where it did not tell. */
  readonly leader: string | null
  /** Alarms raised on it (`NOSPACE`, `CORRUPT`). */
  readonly alarms: readonly string[]
}

/** A follower so many entries behind still counts as caught up: a healthy one is never further than its last batch. */
const MOST_LAG = 1_000

/**
 * The members with their lag behind the furthest one and who leads (CKS-13). A member is the leader when it says so
 * itself: what a partitioned follower still believes proves nothing.
 */
export function etcdMembers(seen: readonly SeenMember[]): EtcdMember[] {
  const furthest = seen.reduce((most, { appliedIndex }) => {
    const index = appliedIndex === null ? 0n : BigInt(appliedIndex)
    return index > most ? index : most
  }, 0n)
  return seen.map(({ id, name, learner, health, appliedIndex, leader, alarms }) => {
    const behind = appliedIndex === null ? null : Number(furthest - BigInt(appliedIndex))
    return {
      id,
      name,
      learner,
      health,
      caughtUp: behind !== null && behind <= MOST_LAG,
      behind,
      leader: leader === id,
      alarms,
    }
  })
}

export type Succession =
  | { readonly kind: 'heir'; readonly heir: EtcdMember }
  | { readonly kind: 'notLeading' }
  | { readonly kind: 'cannot'; readonly why: string }

/** Who takes over from this member where it leads: the first voter that is healthy and caught up. */
export function successionOf(view: EtcdView, name: string): Succession {
  if (view.kind === 'unknown') return { kind: 'cannot', why: view.why }
  const leader = view.members.find((member) => member.leader)
  if (leader === undefined) return { kind: 'cannot', why: 'no member says that it leads' }
  if (leader.name !== name) return { kind: 'notLeading' }
  const heir = view.members.find((member) => member.name !== name && whyDown(member) === null)
  return heir === undefined
    ? { kind: 'cannot', why: 'no other member is healthy and caught up' }
    : { kind: 'heir', heir }
}

/** The member that leads, by name, where it could be seen. */
export function leaderIn(view: EtcdView | null): string | null {
  if (view === null || view.kind === 'unknown') return null
  return view.members.find((member) => member.leader)?.name ?? null
}
