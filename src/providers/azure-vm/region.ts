import { z } from 'zod'
import { PortError } from '../../ports/errors.js'
import type { AzureClient } from './client.js'
import { Remembered } from './remembered.js'
import { skuAnswer, usageAnswer } from './schema.js'
import { type Size, sizeOf } from './sizes.js'

/** The list is megabytes, and changes with a new generation of hardware. */
const SIZES_SECONDS = 600
const USAGES_SECONDS = 15
const ASK_AGAIN_MS = 30_000

/** Cores in use and allowed, by family or regional total, in lower case. */
export type Quotas = ReadonlyMap<string, { readonly used: number; readonly limit: number }>

/** What a region offers a subscription: sizes and quota. */
export class Region {
  readonly #client: AzureClient
  readonly #sizes = new Remembered<ReadonlyMap<string, Size>>(SIZES_SECONDS)
  readonly #quotas = new Remembered<Quotas>(USAGES_SECONDS)

  /** Who can do without the sizes does so until then. */
  #askAgainAtMs = 0

  constructor(client: AzureClient) {
    this.#client = client
  }

  async size(location: string, name: string, signal: AbortSignal): Promise<Size | undefined> {
    return (await this.sizes(location, signal)).get(name.toLowerCase())
  }

  /** For what may be left unknown: undefined, too, where the list of sizes cannot be had just now. */
  async sizeIfKnown(location: string, name: string, signal: AbortSignal): Promise<Size | undefined> {
    if (performance.now() < this.#askAgainAtMs) return undefined
    try {
      return await this.size(location, name, signal)
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof PortError)) throw error
      this.#askAgainAtMs = performance.now() + ASK_AGAIN_MS
      return undefined
    }
  }

  /** By name in lower case. */
  sizes(location: string, signal: AbortSignal): Promise<ReadonlyMap<string, Size>> {
    return this.#sizes.get(location.toLowerCase(), signal, async (shared) => {
      const what = `sizes in ${location}`
      const filter = `location eq '${location}'`
      const answers = await this.#client.list('skus', what, shared, ({ resourceSkus }, options) =>
        resourceSkus.list({ ...options, filter }),
      )
      const sizes = understood(what, z.array(skuAnswer), answers)
        .filter((sku) => sku.resourceType === 'virtualMachines')
        .map((sku) => sizeOf(sku, location))
      return new Map(sizes.map((size) => [size.name.toLowerCase(), size]))
    })
  }

  quotas(location: string, signal: AbortSignal): Promise<Quotas> {
    return this.#quotas.get(location.toLowerCase(), signal, async (shared) => {
      const what = `quota in ${location}`
      const answers = await this.#client.list('usages', what, shared, ({ usage }, options) =>
        usage.list(location, options),
      )
      return new Map(
        understood(what, z.array(usageAnswer), answers).map(({ name, currentValue, limit }) => [
          (name.value ?? '').toLowerCase(),
          { used: currentValue, limit },
        ]),
      )
    })
  }
}

/** A foreign answer as one of our records. Throws `PortError` naming the field that is not as it should be. */
export function understood<T>(what: string, schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new PortError(
    'refused',
    `${what}: answer not understood: ${issue?.path.join('.')}: ${issue?.message}`,
  )
}
