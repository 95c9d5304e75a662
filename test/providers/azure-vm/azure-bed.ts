import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import {
  type ArmCluster,
  type ArmClusterOptions,
  startArmCluster,
} from '../../../src/simulation/arm/arm-cluster.js'
import type { RolloutRequest } from '../../../src/spec/schema.js'
import { CLUSTER, RolloutBed, type RolloutEnd } from '../../support/rollout-bed.js'
import { GROUP, REGION, SKUS, watchTraffic } from './stand-in.js'

export const D2 = 'Standard_D2s_v3'
export const D4 = 'Standard_D4s_v3'

/** A rollout bed whose machines are Azure VMs; workers find the stand-in by their environment, as they find Azure. */
export class AzureBed {
  readonly bed: RolloutBed
  cluster!: ArmCluster

  private constructor(bed: RolloutBed) {
    this.bed = bed
  }

  static async open(): Promise<AzureBed> {
    return new AzureBed(await RolloutBed.open())
  }

  get arm(): ArmCluster['arm'] {
    return this.cluster.arm
  }

  async startCluster(options: Partial<ArmClusterOptions> = {}): Promise<void> {
    const kubeConfig = new KubeConfig()
    kubeConfig.loadFromString(this.bed.kube.kubeconfig('kubelet'))
    this.cluster = await startArmCluster({
      ...{ kubeConfig, cluster: CLUSTER, resourceGroup: GROUP, location: REGION, skus: SKUS, workers: 2 },
      ...options,
      vm: { size: D2, osDiskGiB: 64, ...options.vm },
    })
    const { arm, kubelets, close, etcd } = this.cluster
    watchTraffic(arm)
    this.bed.cluster = { name: CLUSTER, cloud: arm.nodes, kubelets, machines: [], access: etcd, close }
    const caFile = join(await mkdtemp(join(tmpdir(), 'noderoll-arm-')), 'ca.pem')
    await writeFile(caFile, arm.ca)
    Object.assign(process.env, arm.identityEnvironment, {
      AZURE_TOKEN_CREDENTIALS: 'ManagedIdentityCredential',
      NODEROLL_AZURE_ENDPOINT: arm.url,
      NODEROLL_AZURE_CA_FILE: caFile,
    })
  }

  spec(changes: Partial<RolloutRequest> = {}): RolloutRequest {
    return this.bed.spec({ machines: { provider: 'azure-vm', ...this.cluster.access }, ...changes })
  }

  roll(changes: Partial<RolloutRequest>): Promise<RolloutEnd> {
    return this.bed.roll({ machines: { provider: 'azure-vm', ...this.cluster.access }, ...changes })
  }

  /** What was sent to Azure and changed something, as `deallocate w-1`. */
  acts(effective = true): string[] {
    return this.arm.log.acts(effective)
  }
}
