import type { KubeConfig } from '@kubernetes/client-node'
import { SimulatedKubelets, type SimulatedKubeletsOptions } from '../kubelets.js'
import { ArmCloud, type ArmCloudOptions } from './arm-cloud.js'
import type { NewVm } from './new-vm.js'

export interface ArmClusterOptions extends ArmCloudOptions {
  readonly kubeConfig: KubeConfig
  readonly cluster: string
  readonly resourceGroup?: string
  readonly control?: number
  readonly workers?: number
  /** What every VM starts as. */
  readonly vm?: Partial<Omit<NewVm, 'name' | 'resourceGroup' | 'node'>>
  readonly kubelets?: Partial<Omit<SimulatedKubeletsOptions, 'kubeConfig' | 'cloud' | 'cluster'>>
  /** Called before the VMs are made, for groups they are to be in. */
  readonly prepare?: (arm: ArmCloud, resourceGroup: string) => void
}

export interface ArmCluster {
  readonly name: string
  readonly arm: ArmCloud
  readonly kubelets: SimulatedKubelets
  /** Options of the provider `azure-vm`. */
  readonly access: { readonly subscriptionId: string; readonly resourceGroup: string }
  /** Options of the etcd provider `simulated`. */
  readonly etcd: { readonly url: string; readonly cluster: string }
  addVm(name: string, changes?: Partial<NewVm>): void
  close(options?: { readonly deleteNodes?: boolean }): Promise<void>
}

const RESOURCE_GROUP = 'rg-noderoll'
const CONTROL_PLANE_ROLE = 'node-role.kubernetes.io/control-plane'

/** A stand-in for Azure, its VMs and their kubelets on a Kubernetes API that exists; resolves when all Nodes are Ready. */
export async function startArmCluster(options: ArmClusterOptions): Promise<ArmCluster> {
  const { cluster, control = 0, workers = 3, kubeConfig, resourceGroup = RESOURCE_GROUP } = options
  const arm = new ArmCloud(options)
  await arm.start()
  options.prepare?.(arm, resourceGroup)
  const smallest = arm.nodes.state.offerings[0]?.name ?? ''
  const addVm = (name: string, changes: Partial<NewVm> = {}) => {
    const node = { cluster, ...changes.node }
    arm.addVm({ size: smallest, ...options.vm, ...changes, name, resourceGroup, node })
  }
  for (const name of names('c', control)) addVm(name, { node: controlNode(cluster) })
  for (const name of names('w', workers)) addVm(name)
  const kubelets = new SimulatedKubelets({ ...options.kubelets, kubeConfig, cloud: arm.nodes, cluster })
  kubelets.start()
  const close = async (how: { readonly deleteNodes?: boolean } = {}) => {
    await kubelets.close(how)
    await arm.close()
  }
  try {
    await kubelets.untilReady()
  } catch (error) {
    await close()
    throw error
  }
  const { subscriptionId } = arm.settings
  return {
    ...{ name: cluster, arm, kubelets, addVm, close },
    access: { subscriptionId, resourceGroup },
    etcd: { url: arm.nodes.url, cluster },
  }
}

function names(letter: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${letter}-${index + 1}`)
}

function controlNode(cluster: string): NonNullable<NewVm['node']> {
  return {
    ...{ cluster, type: 'control', etcdMember: true },
    labels: { [CONTROL_PLANE_ROLE]: '' },
    taints: [{ key: CONTROL_PLANE_ROLE, effect: 'NoSchedule' }],
  }
}
