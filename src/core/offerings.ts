import type { BatchNode } from './batch.js'

/**
 * The offerings to start a machine with, in order (CKS-01): the one it has when that is in the list, then the others by
 * preference. Null: offering is not recorded, start with what it has.
 */
export function offeringsToTry({ was, wants }: Pick<BatchNode, 'was' | 'wants'>): (string | null)[] {
  const { offerings } = wants
  if (offerings === null || offerings.length === 0) return [null]
  if (!offerings.includes(was.offering)) return [...offerings]
  return [was.offering, ...offerings.filter((offering) => offering !== was.offering)]
}
