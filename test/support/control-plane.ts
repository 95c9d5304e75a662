import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ensureControlPlane } from '../../scripts/control-plane.mjs'
import { AuditLog } from './audit.js'
import { Balancer } from './balancer.js'
import { CONTROLLER_MANAGER, type Files, SCHEDULER, type User, writeFiles } from './control-plane-files.js'
import { startEtcd } from './etcd-processes.js'
import { KubeApi } from './kube-api.js'
import { kubeconfigText } from './kubeconfig.js'
import type { PeerNetwork } from './peer-network.js'
import { freePort } from './ports.js'
import { type ManagedProcess, ProcessGroup } from './processes.js'
import { waitUntil } from './wait.js'

export interface ControlPlaneOptions {
  /** Name of the kubeconfig's context. */
  name?: string
  /** Users besides `admin`. Without groups they may do only what RBAC gives them. */
  users?: User[]
  /** False for a cluster in which nothing happens by itself; arguments come after, and so win over, our own. */
  controllerManager?: boolean | { args: string[] }
  scheduler?: boolean
  /** More API servers on the same etcd. */
  extraApiServers?: number
  etcdMembers?: number
  /** Between the etcd members; without it they talk to each other directly. */
  network?: PeerNetwork
  /** As many API servers as etcd members, each with the member beside it only, and a load balancer before them. */
  stacked?: boolean
  apiServerArgs?: string[]
}

/** Everything about a running control plane that can be handed to another process. */
export interface ControlPlaneAccess {
  name: string
  url: string
  urls: string[]
  /** PEM; the same for every API server. */
  ca: string
  /** By user; `admin` is in system:masters. */
  tokens: Record<string, string>
  auditLog: string
  /** Client URLs of etcd, in the order of its members. */
  etcdUrls?: string[]
  /** The same for their metrics. */
  etcdMetricsUrls?: string[]
  /** Holds data, configuration and logs while it runs. */
  folder: string
  /** The program. */
  kubectl: string
  version: string
}

/** The way to a control plane, from whichever process. */
export class ControlPlaneClient {
  readonly access: ControlPlaneAccess
  readonly audit: AuditLog
  /** As the user `admin`. */
  readonly api: KubeApi

  constructor(access: ControlPlaneAccess) {
    this.access = access
    this.api = this.apiOf('admin')
    this.audit = new AuditLog({
      file: access.auditLog,
      urls: access.urls,
      ca: access.ca,
      token: this.token('admin'),
    })
  }

  get url(): string {
    return this.access.url
  }

  get kubectl(): string {
    return this.access.kubectl
  }

  token(user: string): string {
    const token = this.access.tokens[user]
    if (token === undefined) throw new Error(`the control plane ${this.access.name} has no user ${user}`)
    return token
  }

  apiOf(user: string, url = this.url): KubeApi {
    return new KubeApi({ url, ca: this.access.ca, token: this.token(user) })
  }

  /** `ca` is for a server that is not one of ours: a proxy. */
  kubeconfig(user = 'admin', serverUrl = this.url, options: { ca?: string; context?: string } = {}): string {
    const { name, ca } = this.access
    return kubeconfigText({ user, token: this.token(user), server: serverUrl, ca, context: name, ...options })
  }

  /** The same as a file that lives as long as the control plane. */
  async kubeconfigFile(...options: Parameters<ControlPlaneClient['kubeconfig']>): Promise<string> {
    const path = join(this.access.folder, `${randomUUID()}.kubeconfig`)
    await writeFile(path, this.kubeconfig(...options), { mode: 0o600 })
    return path
  }

  close(): void {
    this.audit.close()
    this.api.close()
  }
}

/** A control plane that this process has started and can break. */
export class ControlPlane extends ControlPlaneClient {
  readonly apiServers: ManagedProcess[]
  readonly etcd: ManagedProcess[]
  readonly controllerManager: ManagedProcess | undefined
  readonly scheduler: ManagedProcess | undefined
  readonly #processes: ProcessGroup
  readonly #balancer: Balancer | undefined

  constructor(access: ControlPlaneAccess, parts: Parts) {
    super(access)
    this.apiServers = parts.apiServers
    this.etcd = parts.etcd
    this.controllerManager = parts.controllerManager
    this.scheduler = parts.scheduler
    this.#processes = parts.processes
    this.#balancer = parts.balancer
  }

  get apiServer(): ManagedProcess {
    const [first] = this.apiServers
    if (!first) throw new Error('a control plane without an API server')
    return first
  }

  async stop(options: { keepLogs?: boolean } = {}): Promise<void> {
    this.close()
    await this.#balancer?.close()
    await this.#processes.stop({ keepFolder: options.keepLogs ?? false })
  }
}

interface Parts {
  processes: ProcessGroup
  balancer: Balancer | undefined
  apiServers: ManagedProcess[]
  etcd: ManagedProcess[]
  controllerManager: ManagedProcess | undefined
  scheduler: ManagedProcess | undefined
}

/** Starts real etcd, kube-apiserver, kube-controller-manager and kube-scheduler; ready after some 5 s. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const programs = await ensureControlPlane()
  for (let attempt = 1; ; attempt++) {
    const processes = new ProcessGroup('control-plane')
    try {
      return await start(options, programs, processes)
    } catch (error) {
      await processes.stop()
      // A port that was free when we looked may be taken by now.
      if (attempt === 3 || !String(error).includes('address already in use')) throw error
    }
  }
}

async function start(
  options: ControlPlaneOptions,
  programs: { dir: string; version: string },
  processes: ProcessGroup,
): Promise<ControlPlane> {
  const files = await writeFiles(processes.folder, options.users ?? [])
  const program = (name: string) => join(programs.dir, name)
  const { endpoints, metrics, etcd } = await startEtcd(processes, program('etcd'), options)

  const ports: number[] = []
  const count = options.stacked ? endpoints.length : 1 + (options.extraApiServers ?? 0)
  for (let n = 0; n < count; n++) ports.push(await freePort())
  const balancer = options.stacked ? await Balancer.start(ports) : undefined
  const urls = ports.map((port) => `https://127.0.0.1:${port}`)
  const access: ControlPlaneAccess = {
    name: options.name ?? 'test',
    url: balancer?.url ?? (urls[0] as string),
    urls,
    etcdUrls: endpoints,
    etcdMetricsUrls: metrics,
    ca: files.ca,
    tokens: files.tokens,
    auditLog: files.auditLog,
    folder: processes.folder,
    kubectl: program('kubectl'),
    version: programs.version,
  }
  const client = new ControlPlaneClient(access)
  const apiServers = await Promise.all(
    ports.map((port, index) =>
      processes.start({
        name: index === 0 ? 'kube-apiserver' : `kube-apiserver-${index + 1}`,
        program: program('kube-apiserver'),
        args: [
          ...apiServerArgs(files, options.stacked ? endpoints.slice(index, index + 1) : endpoints, port),
          ...(options.apiServerArgs ?? []),
        ],
        ready: () => apiServerReady(client.apiOf('admin', urls[index])),
      }),
    ),
  )

  const startController = async (
    name: string,
    user: string,
    args: string[],
    ready: () => Promise<void> = async () => undefined,
  ) => {
    const kubeconfig = await client.kubeconfigFile(user)
    const common = ['--kubeconfig', kubeconfig, '--leader-elect=false', '--secure-port=0']
    const rates = ['--kube-api-qps=500', '--kube-api-burst=1000']
    return await processes.start({
      name,
      program: program(name),
      args: [...common, ...rates, ...args],
      ready,
    })
  }
  const wanted = options.controllerManager ?? true
  const controllerManagerArgs = [
    `--service-account-private-key-file=${files.serviceAccountKey}`,
    // Its default is a folder of the machine, which it would create.
    `--flex-volume-plugin-dir=${join(processes.folder, 'flexvolume')}`,
    '--node-monitor-period=1s',
    '--node-monitor-grace-period=40s',
    ...(typeof wanted === 'object' ? wanted.args : []),
  ]
  const [controllerManager, scheduler] = await Promise.all([
    wanted === false
      ? undefined
      : startController('kube-controller-manager', CONTROLLER_MANAGER, controllerManagerArgs, () =>
          controllersReady(client.api),
        ),
    options.scheduler === false ? undefined : startController('kube-scheduler', SCHEDULER, []),
  ])
  client.close()
  return new ControlPlane(access, { processes, balancer, apiServers, etcd, controllerManager, scheduler })
}

function apiServerArgs(files: Files, etcdServers: readonly string[], port: number): string[] {
  return [
    `--etcd-servers=${etcdServers.join(',')}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    `--secure-port=${port}`,
    `--tls-cert-file=${files.cert}`,
    `--tls-private-key-file=${files.key}`,
    `--token-auth-file=${files.tokenFile}`,
    '--authorization-mode=Node,RBAC',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${files.serviceAccountKey}`,
    `--service-account-signing-key-file=${files.serviceAccountKey}`,
    '--service-cluster-ip-range=10.96.0.0/16',
    // Its Endpoints object may not hold a loopback address, and nobody here needs it.
    '--endpoint-reconciler-type=none',
    // Pods would need a ServiceAccount that only the controller manager makes.
    '--disable-admission-plugins=ServiceAccount',
    '--allow-privileged=true',
    `--audit-policy-file=${files.auditPolicy}`,
    `--audit-log-path=${files.auditLog}`,
    // Blocking and never rotated: a position in the file stays good.
    '--audit-log-mode=blocking',
    '--audit-log-maxsize=100000',
  ]
}

/** The default ServiceAccount is the work of one of the controllers. */
async function controllersReady(api: KubeApi): Promise<void> {
  const path = '/api/v1/namespaces/default/serviceaccounts/default'
  await waitUntil(async () => (await api.call('GET', path)).status === 200, {
    for: 'the controller manager to work',
    timeoutMs: 60_000,
  })
}

/** The priority classes of the system come a few seconds after readyz. */
async function apiServerReady(api: KubeApi): Promise<void> {
  const paths = [
    '/readyz',
    '/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical',
    '/api/v1/namespaces/default',
  ]
  try {
    for (const path of paths) {
      await waitUntil(async () => (await api.call('GET', path)).status === 200, {
        for: `${path} to answer 200`,
        timeoutMs: 60_000,
      })
    }
  } finally {
    api.close()
  }
}
