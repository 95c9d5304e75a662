import { z } from 'zod'
import { PortError } from '../../ports/errors.js'
import type { KubernetesApi } from './api.js'
import type { Answer, Call } from './call.js'
import { answerError, oneLine } from './errors.js'

const PAGE = '500'
/** A list that takes longer than the server keeps its snapshot is begun again, but not for ever. */
const RESTARTS = 2

/** `metadata` of everything we read. Old and trimmed objects lack what today's API server always writes. */
export const METADATA = z.object({
  name: z.string(),
  namespace: z.string().nullish(),
  uid: z.string().nullish(),
  resourceVersion: z.string().nullish(),
  labels: z.record(z.string(), z.string()).nullish(),
  annotations: z.record(z.string(), z.string()).nullish(),
})

const LIST = z.object({
  metadata: z.object({ continue: z.string().nullish(), resourceVersion: z.string().nullish() }).nullish(),
  items: z.array(z.unknown()).nullish(),
})

/** The object in an answer of 200 or 201; any other answer is thrown as a `PortError`. */
export function objectIn<T>(answer: Answer, schema: z.ZodType<T>, doing: string): T {
  if (answer.code !== 200 && answer.code !== 201) throw answerError(answer, doing)
  let value: unknown
  try {
    value = JSON.parse(answer.text)
  } catch {
    throw new PortError('unreachable', `Could not ${doing}: the answer of ${answer.server} is not JSON.`)
  }
  return understood(value, schema, doing)
}

/** A foreign value as one of our records, or `PortError` `refused` that says which field cannot be understood. */
export function understood<T>(value: unknown, schema: z.ZodType<T>, doing: string): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const name = METADATA.pick({ name: true }).safeParse((value as { metadata?: unknown })?.metadata).data?.name
  const whose = name === undefined ? '' : ` of ${name}`
  const where =
    issue === undefined ? '' : ` at ${issue.path.join('.') || 'its top'}: ${oneLine(issue.message)}`
  throw new PortError('refused', `Could not ${doing}: the answer${whose} cannot be understood${where}.`)
}

/** One object. Throws `PortError`. */
export async function get<T>(
  api: KubernetesApi,
  path: string,
  schema: z.ZodType<T>,
  doing: string,
  signal: AbortSignal,
): Promise<T> {
  return objectIn(await api.call({ doing, method: 'GET', path }, signal), schema, doing)
}

/** One object, or null when the API server itself says that it does not exist. */
export async function find<T>(
  api: KubernetesApi,
  path: string,
  schema: z.ZodType<T>,
  doing: string,
  signal: AbortSignal,
): Promise<T | null> {
  try {
    return await get(api, path, schema, doing, signal)
  } catch (error) {
    if (error instanceof PortError && error.kind === 'notFound') return null
    throw error
  }
}

export interface Listed<T> {
  readonly items: T[]
  /** Where the list was taken, the same for all its pages, and where a watch goes on. Null when the server did not tell. */
  readonly resourceVersion: string | null
  /** The server's clock when it answered; null when it did not tell. */
  readonly dateMs: number | null
}

/** All objects of a collection, page by page, from the server itself and not from its cache. */
export async function list<T>(
  api: KubernetesApi,
  call: Pick<Call, 'path' | 'doing' | 'query'>,
  read: (item: unknown) => T,
  signal: AbortSignal,
): Promise<Listed<T>> {
  for (let restarts = 0; ; restarts++) {
    const listed = await listOnce(api, call, read, signal)
    if (listed !== 'expired') return listed
    if (restarts === RESTARTS) {
      throw new PortError(
        'unreachable',
        `Could not ${call.doing}: the pages came too slowly to make one list.`,
      )
    }
  }
}

async function listOnce<T>(
  api: KubernetesApi,
  { path, doing, query }: Pick<Call, 'path' | 'doing' | 'query'>,
  read: (item: unknown) => T,
  signal: AbortSignal,
): Promise<Listed<T> | 'expired'> {
  const items: T[] = []
  let next = ''
  for (;;) {
    const page = { ...query, limit: PAGE, ...(next === '' ? {} : { continue: next }) }
    const answer = await api.call({ doing, method: 'GET', path, query: page }, signal)
    if (answer.code === 410 && next !== '') return 'expired'
    const found = objectIn(answer, LIST, doing)
    // Read at once: a page of full objects weighs a hundred times what is kept of it.
    for (const item of found.items ?? []) items.push(read(item))
    next = found.metadata?.continue ?? ''
    if (next === '')
      return { items, resourceVersion: found.metadata?.resourceVersion ?? null, dateMs: answer.dateMs }
  }
}
