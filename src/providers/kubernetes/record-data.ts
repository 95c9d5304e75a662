import { z } from 'zod'
import type { ClusterRecord } from '../../core/record.js'
import { PortError } from '../../ports/errors.js'
import { oneLine } from './errors.js'

/** Of the layout below. Raised when an older noderoll would misread it. */
const VERSION = '1'

const OFFERINGS = z.array(z.string()).nullable()
const SETTINGS = z.object({
  offerings: OFFERINGS,
  rootDiskGiB: z.number().nullable(),
  affinityGroups: z.array(z.string()).nullable(),
})
const SELECTOR = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('controlPlaneRole') }),
  z.object({ kind: z.literal('rest') }),
  z.object({ kind: z.literal('labels'), labels: z.record(z.string(), z.string()) }),
  z.object({ kind: z.literal('machines'), names: z.array(z.string()) }),
])
const POOLS = z.record(
  z.string(),
  z.object({ type: z.enum(['control', 'worker', 'etcd']), select: SELECTOR, settings: SETTINGS }),
)
const STATE = z.enum(['Running', 'Updating', 'Alert'])
const POOL_ORDER = z.array(z.string())
const CAPACITY = z.object({ machines: z.number(), cpu: z.number(), memoryMiB: z.number() })
const BEFORE = z.object({
  rollout: z.string(),
  state: STATE.nullable(),
  pools: POOLS,
  poolOrder: POOL_ORDER,
  lastError: z.string().nullable(),
})

const FORCED = z.object({ at: z.string(), pod: z.string(), node: z.string() })

/** The text of a key as JSON of this shape. */
const json = <T>(schema: z.ZodType<T>) =>
  z
    .string()
    .transform((text, context): unknown => {
      try {
        return JSON.parse(text)
      } catch {
        context.addIssue({ code: 'custom', message: 'it is not JSON' })
        return z.NEVER
      }
    })
    .pipe(schema)

/** The ConfigMap's keys. One that is not there is null in the record, or empty. */
const DATA = z.object({
  cluster: z.string().optional(),
  identity: z.string().optional(),
  state: STATE.optional(),
  rollout: z.string().optional(),
  lastError: z.string().optional(),
  pools: json(POOLS).optional(),
  poolOrder: json(POOL_ORDER).optional(),
  capacity: json(CAPACITY).optional(),
  before: json(BEFORE).optional(),
  lastForced: json(FORCED).optional(),
})

export type Data = Readonly<Record<string, string>>

const KEYS = ['version', ...Object.keys(DATA.shape)]

/** What a ConfigMap's data says. Throws `PortError` `refused` when that is not for this noderoll to understand. */
export function recordOf(data: Data, where: string): ClusterRecord {
  if (data.version !== VERSION) {
    const found = data.version === undefined ? 'no version' : `version ${JSON.stringify(data.version)}`
    throw new PortError('refused', `${where} has ${found}, and this noderoll understands ${VERSION}.`)
  }
  const parsed = DATA.safeParse(data)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    const what = `${issue?.path.join('.') ?? ''}: ${oneLine(issue?.message ?? '')}`
    throw new PortError('refused', `${where} cannot be understood at ${what}.`)
  }
  const { cluster, identity, state, rollout, lastError, pools, poolOrder, capacity, before, lastForced } =
    parsed.data
  return {
    cluster: cluster ?? null,
    identity: identity ?? null,
    state: state ?? null,
    rollout: rollout ?? null,
    lastError: lastError ?? null,
    pools: pools ?? {},
    poolOrder: poolOrder ?? [],
    capacity: capacity ?? null,
    before: before ?? null,
    lastForced: lastForced ?? null,
  }
}

/** The data that says this record: the same text for the same record. Keys of others in `data` stay. */
export function dataOf(record: ClusterRecord, data: Data): Record<string, string> {
  const { pools, poolOrder, capacity, before, lastForced, ...texts } = record
  const ours = {
    version: VERSION,
    ...texts,
    pools: stableJson(pools),
    poolOrder: stableJson(poolOrder),
    capacity: capacity && stableJson(capacity),
    before: before && stableJson(before),
    lastForced: lastForced && stableJson(lastForced),
  }
  const others = Object.entries(data).filter(([key]) => !KEYS.includes(key))
  const said = Object.entries(ours).filter((entry): entry is [string, string] => entry[1] !== null)
  return Object.fromEntries([...others, ...said])
}

/** Is it the same data, whatever the order? */
export function isSameData(a: Data, b: Data): boolean {
  return stableJson(a) === stableJson(b)
}

function stableJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
}
