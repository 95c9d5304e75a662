import type { NodeRecord } from '../model.js'

/**
 * How long nobody has heard of a node's kubelet; 0 while it says anything at all. One that says that it is not ready does
 * so itself, and still ends its pods. A silence of which nobody says when it began has just begun.
 */
export function silentSeconds({ ready, unknownSince }: Silence, nowMs: number): number {
  const began = ready === 'unknown' ? Date.parse(unknownSince ?? '') : Number.NaN
  return Number.isNaN(began) ? 0 : Math.max(0, (nowMs - began) / 1000)
}

type Silence = Pick<NodeRecord, 'ready' | 'unknownSince'>
