import { z } from 'zod'
import { PortError } from '../../ports/errors.js'
import type { AzureClient } from './client.js'
import { groupId, type Home, partsOf } from './ids.js'
import { understood } from './region.js'
import { Remembered } from './remembered.js'

const SECONDS = 30

const placementGroup = z.object({
  name: z.string(),
  intent: z.object({ vmSizes: z.array(z.string()).nullish() }).nullish(),
})

const availabilitySet = z.object({
  name: z.string(),
  virtualMachines: z.array(z.unknown()).nullish(),
  proximityPlacementGroup: z.object({ id: z.string().nullish() }).nullish(),
})

const size = z.object({ name: z.string().nullish() })

export type PlacementGroup = z.output<typeof placementGroup>
export type AvailabilitySet = z.output<typeof availabilitySet> & { readonly sizes: readonly string[] }

/** The groups VMs can be in. Each is null when there is none of that name. */
export class Groups {
  readonly #client: AzureClient
  readonly #home: Home
  readonly #placement = new Remembered<PlacementGroup | null>(SECONDS)
  readonly #sets = new Remembered<AvailabilitySet | null>(SECONDS)
  readonly #hosts = new Remembered<boolean>(SECONDS)

  constructor(client: AzureClient, home: Home) {
    this.#client = client
    this.#home = home
  }

  /** By name or id, as a spec has it. */
  placementGroup(name: string, signal: AbortSignal): Promise<PlacementGroup | null> {
    const { group, name: short } = partsOf(groupId(name, this.#home))
    return this.#placement.get(`${group}/${short}`, signal, async (shared) => {
      const what = `proximity placement group ${name}`
      const answer = await orNull(
        this.#client.read('groups', what, shared, ({ proximityPlacementGroups }, options) =>
          proximityPlacementGroups.get(group, short, options),
        ),
      )
      return answer === null ? null : understood(what, placementGroup, answer)
    })
  }

  /** By id, or by name in the cluster's own resource group. */
  availabilitySet(idOrName: string, signal: AbortSignal): Promise<AvailabilitySet | null> {
    const { group, name } = idOrName.startsWith('/')
      ? partsOf(idOrName)
      : { group: this.#home.resourceGroup, name: idOrName }
    return this.#sets.get(`${group}/${name}`.toLowerCase(), signal, async (shared) => {
      const what = `availability set ${name}`
      const answer = await orNull(
        this.#client.read('groups', what, shared, ({ availabilitySets }, options) =>
          availabilitySets.get(group, name, options),
        ),
      )
      if (answer === null) return null
      const sizes = await this.#client.list('groups', what, shared, ({ availabilitySets }, options) =>
        availabilitySets.listAvailableSizes(group, name, options),
      )
      return {
        ...understood(what, availabilitySet, answer),
        sizes: understood(what, z.array(size), sizes).map((one) => (one.name ?? '').toLowerCase()),
      }
    })
  }

  /** Is there a group of dedicated hosts of that name? */
  hostGroup(name: string, signal: AbortSignal): Promise<boolean> {
    return this.#hosts.get(name.toLowerCase(), signal, async (shared) => {
      const answer = await orNull(
        this.#client.read('groups', `host group ${name}`, shared, ({ dedicatedHostGroups }, options) =>
          dedicatedHostGroups.get(this.#home.resourceGroup, name, options),
        ),
      )
      return answer !== null
    })
  }
}

/** Null for what Azure says does not exist. */
export async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof PortError && error.kind === 'notFound') return null
    throw error
  }
}
