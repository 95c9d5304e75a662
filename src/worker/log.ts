import { ApplicationFailure } from '@temporalio/common'
import { DefaultLogger, type LogEntry, type Logger, type LogLevel } from '@temporalio/worker'

/** Fields of the SDK that say nothing to an operator. */
const NOISE = new Set(['spanContexts', 'target', 'taskToken', 'isLocal'])

/** One line an entry, on stderr: JSON for machines, plain words where a person looks on. */
export function workerLogger(level: LogLevel, forPerson: boolean): Logger {
  return new DefaultLogger(level, (entry) => {
    process.stderr.write(`${forPerson ? sayPlainly(entry) : sayJson(entry)}\n`)
  })
}

export function sayJson({ level, message, timestampNanos, meta }: LogEntry): string {
  return JSON.stringify({ time: timeOf(timestampNanos), level, message, ...Object.fromEntries(fields(meta)) })
}

export function sayPlainly({ level, message, timestampNanos, meta }: LogEntry): string {
  const words = fields(meta).map(
    ([key, value]) => ` ${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  return `${timeOf(timestampNanos)} ${level.padEnd(5)} ${message}${words.join('')}`
}

function fields(meta: LogEntry['meta']): [string, unknown][] {
  return Object.entries(meta ?? {})
    .filter(([key, value]) => !NOISE.has(key) && value !== undefined)
    .map(([key, value]) => [key, plain(value)])
}

function plain(value: unknown): unknown {
  if (value instanceof Error) return sayError(value)
  if (typeof value === 'bigint') return value.toString()
  return value
}

/** A refusal of ours is a sentence. Anything else is a bug or a surprise, and its stack is all there is to go by. */
function sayError(error: Error): string {
  if (error instanceof ApplicationFailure) return `${error.type ?? error.name}: ${error.message}`
  return error.stack ?? String(error)
}

function timeOf(nanos: bigint): string {
  return new Date(Number(nanos / 1_000_000n)).toISOString()
}
