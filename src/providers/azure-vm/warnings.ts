import type { MachineChange } from '../../ports/machines.js'
import type { Size } from './sizes.js'

/** What an operator should know before VMs are deallocated and moved, one sentence each. */
export function warningsOf(
  changes: readonly { readonly change: MachineChange; readonly has: Size | undefined }[],
): string[] {
  if (changes.length === 0) return []
  const names = (of: typeof changes) => {
    const shown = of.slice(0, 5).map(({ change }) => change.machine.name)
    return `${shown.join(', ')}${of.length > shown.length ? ` and ${of.length - shown.length} more` : ''}`
  }
  const tempDisks = changes.filter(({ has }) => has?.tempDisk === true)
  return [
    `deallocating a VM gives back its hardware and loses a public IP address that is dynamic (${names(changes)})`,
    ...(tempDisks.length === 0 ? [] : [`what is on the temp disk is lost: ${names(tempDisks)}`]),
    ...oneDatacentre(changes.map(({ change }) => change)),
  ]
}

/** A proximity placement group is one datacentre: control nodes in it share its fate. */
function oneDatacentre(changes: readonly MachineChange[]): string[] {
  const control = changes.filter(({ type, wants }) => type !== 'worker' && wants.affinityGroups !== null)
  const groups = new Set(control.flatMap(({ wants }) => wants.affinityGroups ?? []))
  return control.length < 2
    ? []
    : [...groups].map(
        (group) =>
          `proximity placement group ${group} puts ${control.length} control or etcd machines into one datacentre`,
      )
}
