import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { KubeConfig } from '@kubernetes/client-node'
import { startArmCluster } from '../src/simulation/arm/arm-cluster.js'
import { startSimulatedCluster } from '../src/simulation/cluster.js'
import type { RolloutRequest } from '../src/spec/schema.js'
import type { Failure } from './arguments.js'

export interface DemoMachinesOptions {
  readonly kubeConfig: KubeConfig
  readonly cluster: string
  readonly control: number
  readonly workers: number
  readonly fail: Failure | null
  /** Where a certificate can be kept while the demo runs. */
  readonly folder: string
}

/** Machines with their kubelets, and what a spec says to roll them. */
export interface DemoMachines {
  readonly spec: Pick<RolloutRequest, 'machines' | 'etcd' | 'pools'>
  close(): Promise<unknown>
}

const DELAYS = { stopMs: 800, changeMs: 200, startMs: 800, bootMs: 1_200 }

/** The simulated cloud. */
export async function simulatedMachines(options: DemoMachinesOptions): Promise<DemoMachines> {
  const machines = await startSimulatedCluster({
    ...options,
    machine: { offering: 'small', rootDiskGiB: 50 },
    delays: DELAYS,
  })
  const { cloud } = machines
  if (options.fail === 'start') {
    const effect = { kind: 'operationFails', message: 'the host of the machine has a broken disk' } as const
    cloud.faults.add({ call: 'start', machine: 'w-2', count: null, effect })
  }
  if (options.fail === 'capacity') {
    cloud.faults.add({ call: 'start', offering: 'large', count: null, effect: { kind: 'capacity' } })
  }
  return {
    spec: {
      machines: { provider: 'simulated', ...machines.access },
      etcd: { provider: 'simulated', ...machines.access },
      pools: {
        control: { offering: 'medium' },
        worker: { offering: 'large', rootDiskGiB: 80, maxUnavailable: 2 },
      },
    },
    close: () => machines.close(),
  }
}

/** A stand-in for Azure Resource Manager, reached by the unmodified Azure SDK: address, CA and identity by environment. */
export async function azureMachines(options: DemoMachinesOptions): Promise<DemoMachines> {
  const machines = await startArmCluster({ ...options, delays: DELAYS })
  const { arm } = machines
  const caFile = join(options.folder, 'azure-ca.pem')
  await writeFile(caFile, arm.ca)
  Object.assign(process.env, arm.identityEnvironment, {
    AZURE_TOKEN_CREDENTIALS: 'ManagedIdentityCredential',
    NODEROLL_AZURE_ENDPOINT: arm.url,
    NODEROLL_AZURE_CA_FILE: caFile,
  })
  const [, medium = '', large = ''] = arm.nodes.state.offerings.map((offering) => offering.name)
  return {
    spec: {
      machines: { provider: 'azure-vm', ...machines.access },
      etcd: { provider: 'simulated', ...machines.etcd },
      pools: {
        control: { offering: medium },
        worker: { offering: large, rootDiskGiB: 128, maxUnavailable: 2 },
      },
    },
    close: () => machines.close(),
  }
}
