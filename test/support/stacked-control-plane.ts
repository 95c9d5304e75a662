import type { SimulatedCluster } from '../../src/simulation/cluster.js'
import { type ControlPlane, ControlPlaneClient, startControlPlane } from './control-plane.js'
import type { ControlPlanePart } from './embedded-control-plane.js'
import type { PeerNetwork } from './peer-network.js'
import type { ManagedProcess } from './processes.js'
import { waitUntil } from './wait.js'

/**
 * A control plane of real etcd members and real API servers, stacked (one of each for a machine) or with the members on
 * machines of their own: they live while their machine runs and are killed with it.
 */
export class StackedControlPlane extends ControlPlaneClient {
  readonly apiServer: ControlPlanePart
  readonly etcd: ControlPlanePart
  readonly controllerManager: ControlPlanePart
  readonly scheduler: ControlPlanePart
  readonly members: readonly ManagedProcess[]
  readonly apiServers: readonly ManagedProcess[]
  readonly #plane: ControlPlane

  private constructor(plane: ControlPlane) {
    super(plane.access)
    const { apiServer, etcd, controllerManager, scheduler, apiServers } = plane
    const [first] = etcd
    if (first === undefined || controllerManager === undefined || scheduler === undefined)
      throw new Error('a control plane without all of its parts')
    this.apiServer = apiServer
    this.etcd = first
    this.controllerManager = controllerManager
    this.scheduler = scheduler
    this.members = etcd
    this.apiServers = apiServers
    this.#plane = plane
  }

  static async start(
    members: number,
    { stacked = true, network }: { stacked?: boolean; network?: PeerNetwork } = {},
  ): Promise<StackedControlPlane> {
    return new StackedControlPlane(
      await startControlPlane({
        etcdMembers: members,
        stacked,
        ...(network === undefined ? {} : { network }),
        users: ['noderoll', { name: 'kubelet', groups: ['system:masters', 'system:nodes'] }],
      }),
    )
  }

  get adminToken(): string {
    return this.token('admin')
  }

  /** From now on the processes of machine `c-1` are the first etcd and the first API server, and so on. */
  liveOn({ cloud, machines }: SimulatedCluster, prefix = 'c-'): void {
    for (const [at, member] of this.members.entries()) {
      const machine = machines.find(({ name }) => name === `${prefix}${at + 1}`)
      const apiServer = prefix === 'c-' ? this.apiServers[at] : undefined
      const processes = [member, ...(apiServer === undefined ? [] : [apiServer])]
      let done: Promise<unknown> = Promise.resolve()
      cloud.machineChanges.subscribe((changed) => {
        if (changed === machine) done = done.then(() => follow(processes, () => machine.power === 'running'))
      })
    }
  }

  /** How the spec names the members and API servers, by machine. */
  etcdAccess(caFile: string, prefix = 'c-') {
    const named = (urls: readonly string[] = [], letter: string) =>
      urls.map((url, at) => `${letter}${at + 1}=${url}`)
    return {
      provider: 'etcd',
      members: named(this.access.etcdUrls, prefix),
      apiServers: named(this.access.urls, 'c-'),
      apiServerCaFile: caFile,
    }
  }

  /** kubeadm's notes on the static pods of the machines, which say where their members and API servers are. */
  async noteAddresses(): Promise<void> {
    const { urls, etcdUrls = [] } = this.access
    for (const [at, url] of etcdUrls.entries()) {
      const endpoint = urls[at]?.replace('https://', '')
      await this.#annotate(`etcd-c-${at + 1}`, 'etcd.advertise-client-urls', url)
      await this.#annotate(
        `kube-apiserver-c-${at + 1}`,
        'kube-apiserver.advertise-address.endpoint',
        endpoint,
      )
    }
  }

  async #annotate(pod: string, key: string, value: string | undefined): Promise<void> {
    const annotations = { [`kubeadm.kubernetes.io/${key}`]: value }
    const path = `/api/v1/namespaces/kube-system/pods/${pod}`
    // The kubelet makes it when its node has registered.
    await waitUntil(
      async () => (await this.api.call('PATCH', path, { metadata: { annotations } })).status === 200,
      {
        for: `static pod ${pod}`,
      },
    )
  }

  /** What a test has killed or paused runs again. */
  async mend(): Promise<void> {
    for (const one of [...this.members, ...this.apiServers]) if (one.running) one.resume()
    const down = [...this.members, ...this.apiServers].filter((one) => !one.running)
    await Promise.all(down.map((one) => one.start()))
    await waitUntil(
      async () => {
        const answers = await Promise.all((this.access.etcdUrls ?? []).map((url) => fetch(`${url}/health`)))
        return answers.every(({ ok }) => ok)
      },
      { for: 'every member to be healthy' },
    )
  }

  async stop(): Promise<void> {
    this.close()
    await this.#plane.stop()
  }
}

/** A machine that went off takes its processes with it at once; one that starts brings them up in their order. */
async function follow(processes: readonly ManagedProcess[], isOn: () => boolean): Promise<void> {
  if (!isOn()) {
    await Promise.all(processes.map((one) => one.kill()))
    return
  }
  for (const one of processes) {
    if (!one.running && isOn()) await one.start()
  }
}
