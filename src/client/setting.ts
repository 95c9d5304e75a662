import type { ClientConfigProfile } from '@temporalio/envconfig'

/** A value with where it came from, for the log of a worker and for whoever asks "why that server?". */
export interface Setting<T> {
  readonly value: T
  readonly from: string
}

/** What one source says about how Temporal is reached; what it leaves out is left to the next one. */
export interface Layer extends ClientConfigProfile {
  readonly from: string
  readonly taskQueue?: string
}

/** Text as in `process.env`. */
export type Variables = Readonly<Record<string, string | undefined>>

/** The first layer that says something about `key`. */
export function firstOf<K extends keyof Layer>(
  layers: readonly Layer[],
  key: K,
): Setting<NonNullable<Layer[K]>> | null {
  for (const layer of layers) {
    const value = layer[key]
    if (value !== undefined) return { value, from: layer.from }
  }
  return null
}
