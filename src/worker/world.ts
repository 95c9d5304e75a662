import type { z } from 'zod'
import { issueWords } from '../core/issue-words.js'
import type { Problem } from '../core/model.js'
import type { EtcdAccess, KubernetesAccess, MachinesAccess, Target } from '../core/spec.js'
import type { Cluster } from '../ports/cluster.js'
import type { Connections, World } from '../ports/connections.js'
import { PortError } from '../ports/errors.js'
import type { ControlPlane } from '../ports/etcd.js'
import type { Executions } from '../ports/executions.js'
import type { Machines } from '../ports/machines.js'
import type { Records } from '../ports/records.js'
import { azureEnvironment } from '../providers/azure-vm/environment.js'
import { AzureVmMachines } from '../providers/azure-vm/machines.js'
import { azureVmOptions } from '../providers/azure-vm/options.js'
import {
  etcdApiServerControlPlane,
  etcdControlPlane,
  etcdMetricsControlPlane,
} from '../providers/etcd/control-planes.js'
import { etcdApiServerOptions, etcdMetricsOptions, etcdOptions } from '../providers/etcd/schema.js'
import { KubernetesApi } from '../providers/kubernetes/api.js'
import { type KubernetesCluster, kubernetesCluster } from '../providers/kubernetes/cluster.js'
import { kubernetesRecords } from '../providers/kubernetes/records.js'
import { SimulatedControlPlane } from '../providers/simulated/control-plane.js'
import { SimulatedMachines } from '../providers/simulated/machines.js'
import { simulatedOptions } from '../providers/simulated/schema.js'

/** One provider: how its options are checked, and what is made of them. */
interface Provider<T> {
  readonly options: z.ZodType
  /** `cluster` is for what the spec leaves to be found there. */
  make(access: MachinesAccess, cluster: Cluster): T
}

/** Adding a provider is one folder in src/providers and one line here. */
export const MACHINES: Readonly<Record<string, Provider<Machines>>> = {
  'azure-vm': {
    options: azureVmOptions,
    make: ({ options }) => new AzureVmMachines(azureVmOptions.parse(options), azureEnvironment(process.env)),
  },
  simulated: {
    options: simulatedOptions,
    make: ({ options }) => new SimulatedMachines(simulatedOptions.parse(options)),
  },
}

export const CONTROL_PLANES: Readonly<Record<string, Provider<ControlPlane>>> = {
  etcd: {
    options: etcdOptions,
    make: ({ options }, cluster) => etcdControlPlane(etcdOptions.parse(options), cluster),
  },
  'etcd-metrics': {
    options: etcdMetricsOptions,
    make: ({ options }, cluster) => etcdMetricsControlPlane(etcdMetricsOptions.parse(options), cluster),
  },
  'etcd-api-server': {
    options: etcdApiServerOptions,
    make: ({ options }, cluster) => etcdApiServerControlPlane(etcdApiServerOptions.parse(options), cluster),
  },
  simulated: {
    options: simulatedOptions,
    make: ({ options }) => new SimulatedControlPlane(simulatedOptions.parse(options)),
  },
}

/** The Kubernetes side of a target: targets that differ in their machines only share its connections and node cache. */
interface Kubernetes {
  readonly cluster: KubernetesCluster
  readonly records: Records
}

export interface OpenWorld extends World {
  /** Ends the watches, which would keep the process alive. What is asked for after that is answered all the same. */
  close(): void
}

/** The outside worlds by the references of a target; one set of clients per target, for all its activities. */
export function createWorld(executions: Executions): OpenWorld {
  const known = new Map<string, Connections>()
  const kubernetes = new Map<string, Kubernetes>()
  return {
    executions,
    checkTarget: (target) => [
      ...checkProvider('machines', target.machines, MACHINES),
      ...(target.etcd === null ? [] : checkProvider('etcd', target.etcd, CONTROL_PLANES)),
    ],
    connect: async (target) => {
      const key = JSON.stringify(target)
      const connections = known.get(key) ?? connect(target, kubernetes)
      known.set(key, connections)
      return connections
    },
    close: () => {
      for (const { cluster } of kubernetes.values()) cluster.close()
    },
  }
}

function connect(target: Target, kubernetes: Map<string, Kubernetes>): Connections {
  const key = JSON.stringify(target.kubernetes)
  const { cluster, records } = kubernetes.get(key) ?? connectKubernetes(target.kubernetes)
  kubernetes.set(key, { cluster, records })
  return {
    cluster,
    records,
    machines: made(target.machines, MACHINES, cluster),
    controlPlane: target.etcd === null ? null : made(target.etcd, CONTROL_PLANES, cluster),
  }
}

function connectKubernetes(access: KubernetesAccess): Kubernetes {
  const api = new KubernetesApi(access)
  return { cluster: kubernetesCluster(access, api), records: kubernetesRecords(access, api) }
}

function made<T>(
  access: MachinesAccess,
  providers: Readonly<Record<string, Provider<T>>>,
  cluster: Cluster,
): T {
  const provider = providers[access.provider]
  if (provider === undefined) throw new PortError('refused', `this worker has no provider ${access.provider}`)
  return provider.make(access, cluster)
}

function checkProvider<T>(
  where: 'machines' | 'etcd',
  access: MachinesAccess | EtcdAccess,
  providers: Readonly<Record<string, Provider<T>>>,
): Problem[] {
  const provider = providers[access.provider]
  if (provider === undefined) {
    const fix = `this worker knows ${Object.keys(providers).join(', ')}`
    return [{ where: `${where}.provider`, what: `${access.provider} is no provider`, fix }]
  }
  const parsed = provider.options.safeParse(access.options)
  if (parsed.success) return []
  return parsed.error.issues.map((issue) => ({
    where: [where, ...issue.path].join('.'),
    what: issueWords(issue),
    fix: 'correct it in the spec',
  }))
}
