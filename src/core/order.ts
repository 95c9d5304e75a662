import { type Member, nameOf, TYPE_ORDER } from './model.js'

/** Compares names as people count: `w-2` before `w-10`. */
export function compareNames(a: string, b: string): number {
  const left = a.split(/(\d+)/)
  const right = b.split(/(\d+)/)
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const x = left[i] ?? ''
    const y = right[i] ?? ''
    if (x === y) continue
    const difference = i % 2 === 1 ? Number(x) - Number(y) : 0
    return difference !== 0 ? difference : x < y ? -1 : 1
  }
  return left.length - right.length
}

export function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return compareNames(a.name, b.name)
}

/**
 * CKS-08: etcd, control, workers; pools of a type in the order given; inside a pool by name, those of `last` after the
 * others: etcd's leader, and nodes that noderoll itself runs on.
 */
export function inRollOrder(
  members: readonly Member[],
  poolOrder: readonly string[],
  last: readonly string[],
): Member[] {
  return [...members].sort(
    (a, b) =>
      TYPE_ORDER.indexOf(a.type) - TYPE_ORDER.indexOf(b.type) ||
      poolOrder.indexOf(a.pool) - poolOrder.indexOf(b.pool) ||
      Number(last.includes(nameOf(a))) - Number(last.includes(nameOf(b))) ||
      compareNames(nameOf(a), nameOf(b)),
  )
}
