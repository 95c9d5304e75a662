import type { KubeConfig } from '@kubernetes/client-node'
import { SimulatedCloud, type SimulatedCloudOptions } from './cloud.js'
import type { SimulatedMachine } from './cloud-state.js'
import { SimulatedKubelets, type SimulatedKubeletsOptions } from './kubelets.js'
import type { NewMachine } from './new-machine.js'

export interface SimulatedClusterOptions extends SimulatedCloudOptions {
  readonly kubeConfig: KubeConfig
  readonly cluster: string
  readonly control?: number
  readonly workers?: number
  /** External etcd machines; without them the control machines hold etcd. */
  readonly etcd?: number
  /** What every machine starts as. */
  readonly machine?: Pick<NewMachine, 'offering' | 'rootDiskGiB' | 'rootDiskFixed' | 'affinityGroups'>
  /** What the cloud calls a machine, by its host name; the same where left out. Not for external etcd machines: they have no Node to go by. */
  readonly displayName?: (name: string) => string
  /** Before each machine's name (`c-1`, `w-1`, `e-1`), where several clusters share something. */
  readonly namePrefix?: string
  readonly kubelets?: Partial<Omit<SimulatedKubeletsOptions, 'kubeConfig' | 'cloud' | 'cluster'>>
  /** Use a cloud that runs already and belongs to the caller. */
  readonly cloud?: SimulatedCloud
  readonly readyTimeoutMs?: number
}

export interface SimulatedCluster {
  readonly name: string
  readonly cloud: SimulatedCloud
  readonly kubelets: SimulatedKubelets
  /** In the order control, workers, etcd. */
  readonly machines: readonly SimulatedMachine[]
  /** Options of the providers `simulated` for a spec. */
  readonly access: { readonly url: string; readonly cluster: string }
  close(options?: { readonly deleteNodes?: boolean }): Promise<void>
}

const CONTROL_PLANE_ROLE = 'node-role.kubernetes.io/control-plane'

/** A cloud, its machines and their kubelets on a Kubernetes API that exists; resolves when all Nodes are Ready. */
export async function startSimulatedCluster(options: SimulatedClusterOptions): Promise<SimulatedCluster> {
  const { cluster, control = 1, workers = 3, etcd = 0 } = options
  const cloud = options.cloud ?? new SimulatedCloud(options)
  if (options.cloud === undefined) await cloud.start()
  const machines = [
    ...names('c', control, options).map((name) => cloud.addMachine(controlMachine(name, options))),
    ...names('w', workers, options).map((name) =>
      cloud.addMachine({ ...options.machine, ...called(name, options), cluster, name, type: 'worker' }),
    ),
    ...names('e', etcd, options).map((name) =>
      cloud.addMachine({ ...options.machine, cluster, name, type: 'etcd' }),
    ),
  ]
  const { kubeConfig } = options
  const kubelets = new SimulatedKubelets({ ...options.kubelets, kubeConfig, cloud, cluster })
  kubelets.start()
  const close = async (how: { readonly deleteNodes?: boolean } = {}) => {
    await kubelets.close(how)
    if (options.cloud === undefined) await cloud.close()
  }
  try {
    await kubelets.untilReady(undefined, options.readyTimeoutMs)
  } catch (error) {
    await close()
    throw error
  }
  return { name: cluster, cloud, kubelets, machines, access: { url: cloud.url, cluster }, close }
}

function names(letter: string, count: number, { namePrefix = '' }: SimulatedClusterOptions): string[] {
  return Array.from({ length: count }, (_, index) => `${namePrefix}${letter}-${index + 1}`)
}

function called(name: string, { displayName }: SimulatedClusterOptions): Pick<NewMachine, 'displayName'> {
  return displayName === undefined ? {} : { displayName: displayName(name) }
}

function controlMachine(name: string, options: SimulatedClusterOptions): NewMachine {
  const { cluster, machine, etcd = 0 } = options
  return {
    ...machine,
    ...called(name, options),
    cluster,
    name,
    type: 'control',
    etcdMember: etcd === 0,
    nodeLabels: { [CONTROL_PLANE_ROLE]: '' },
    nodeTaints: [{ key: CONTROL_PLANE_ROLE, effect: 'NoSchedule' }],
  }
}
