import type { ArmAnswer } from './arm-answer.js'
import type { ArmCallName } from './arm-calls.js'

const FROM = '$skiptoken'

/** Of the lists of sizes that a VM, a set or a location can have, the service describes no second page. */
const PAGED = new Set<ArmCallName>(['listVms', 'listDisks', 'skus', 'usages'])

/** A list as ARM gives it: so many items at a time, with the whole URL of the page that follows. */
export function pageOf(call: ArmCallName, given: ArmAnswer, url: URL, pageSize: number): ArmAnswer {
  const items = (given.body as { readonly value?: unknown } | undefined)?.value
  if (!PAGED.has(call) || given.status !== 200 || !Array.isArray(items)) return given
  const from = Number(url.searchParams.get(FROM) ?? 0)
  const to = from + pageSize
  const next = new URL(url)
  next.searchParams.set(FROM, String(to))
  const body = { value: items.slice(from, to), ...(to < items.length ? { nextLink: next.href } : {}) }
  return { ...given, body }
}
