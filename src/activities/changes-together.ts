import type { Member } from '../core/model.js'
import type { EffectivePool } from '../core/settings.js'
import type { MachineChange, Machines, Together } from '../ports/machines.js'

/** What the provider says about all changes at once, for each place in the lists of offerings (CKS-01, CKS-04). */
export async function changesTogether(
  machines: Machines,
  changing: readonly Member[],
  pools: readonly EffectivePool[],
  signal: AbortSignal,
): Promise<Together> {
  if (machines.together === undefined || changing.length === 0) return { refusals: {}, warnings: [] }
  const places = Math.max(1, ...pools.map(({ settings }) => settings.offerings?.length ?? 0))
  const refusals: Record<string, readonly string[]> = {}
  let warnings: readonly string[] = []
  for (let place = 0; place < places; place++) {
    const found = await machines.together(changesAt(place, changing, pools), signal)
    for (const [id, reasons] of Object.entries(found.refusals))
      refusals[id] = [...new Set([...(refusals[id] ?? []), ...reasons])]
    if (place === 0) warnings = found.warnings
  }
  return { refusals, warnings }
}

function changesAt(
  place: number,
  changing: readonly Member[],
  pools: readonly EffectivePool[],
): MachineChange[] {
  return changing.flatMap(({ machine, type, pool: name }) => {
    const settings = pools.find((pool) => pool.name === name)?.settings
    if (settings === undefined) return []
    const { offerings, rootDiskGiB, affinityGroups } = settings
    // A machine whose size is in the list keeps it.
    const keeps = offerings === null || offerings.includes(machine.offering)
    const offering = keeps ? null : (offerings[place] ?? offerings[offerings.length - 1] ?? null)
    return [{ machine, type, wants: { offering, rootDiskGiB, affinityGroups } }]
  })
}
