import type { SimulatedCloud } from '../cloud.js'
import type { SimulatedMachine, SimulatedPower } from '../cloud-state.js'
import { newMachine } from '../new-machine.js'
import { type ArmPower, type ArmState, type ArmVm, keyOf } from './arm-state.js'

const POWERS: Readonly<Record<ArmPower, SimulatedPower>> = {
  running: 'running',
  starting: 'starting',
  stopping: 'stopping',
  stopped: 'stopped',
  deallocating: 'stopping',
  deallocated: 'stopped',
}

/**
 * Keeps the machines of a simulated cloud in step with the VMs, so that its kubelets, etcd members and API servers live
 * on them: they see a machine that stops and starts, and nothing of ARM.
 */
export class ArmMachines {
  readonly #nodes: SimulatedCloud
  readonly #machines = new Map<string, SimulatedMachine>()

  constructor(nodes: SimulatedCloud) {
    this.#nodes = nodes
  }

  /** The VM was made, changed or deleted. Those that belong to no cluster have no machine. */
  follow(state: ArmState, key: string, providerId: string): void {
    const vm = state.vms[key]
    const known = this.#machines.get(key)
    if (vm === undefined) {
      if (known !== undefined) this.#nodes.removeMachine(known.id)
      this.#machines.delete(key)
      return
    }
    if (vm.node.cluster === '') return
    const machine = known ?? this.#add(vm, key, providerId)
    machine.offering = vm.size
    machine.rootDiskGiB = state.disks[vm.osDisk]?.sizeGiB ?? machine.rootDiskGiB
    machine.power = POWERS[vm.power]
    machine.operation = vm.operation
    machine.upSince = vm.upSince
    if (vm.power === 'running') machine.placement = vm.placementGroup === null ? [] : [vm.placementGroup]
    this.#nodes.machineChanges.tell(machine)
  }

  machine(vm: ArmVm): SimulatedMachine | undefined {
    return this.#machines.get(keyOf(vm.resourceGroup, vm.name))
  }

  #add(vm: ArmVm, key: string, providerId: string): SimulatedMachine {
    const { cluster, type, labels, taints, etcdMember } = vm.node
    const { state } = this.#nodes
    state.clusters[cluster] ??= {
      name: cluster,
      operation: null,
      etcdLeader: null,
      etcdTerm: 1,
      etcdIndex: 10_000,
    }
    const name = vm.computerName.toLowerCase()
    const made = newMachine(
      { cluster, name, type, offering: vm.size, nodeLabels: labels, nodeTaints: taints, etcdMember },
      this.#machines.size + 1,
      state,
    )
    const machine = { ...made, id: vm.name, providerId }
    state.machines[machine.id] = machine
    this.#machines.set(key, machine)
    return machine
  }
}
