import { stringify } from 'yaml'
import { bootstrap } from './bootstrap.js'
import { CertificateAuthority } from './certificate.js'
import type { ControllerLoop } from './controllers/controller-loop.js'
import { startControllers } from './controllers/controllers.js'
import type { JsonObject } from './objects/api-object.js'
import { Registry } from './objects/registry.js'
import { Store } from './objects/store.js'
import { ApiServer } from './server/api-server.js'
import { AuditLog } from './server/audit-log.js'
import { Gate } from './server/gate.js'
import { TlsListener } from './server/tls-listener.js'
import { MASTERS, Users } from './server/users.js'

export interface EmbeddedKubernetesOptions {
  /**
   * Users besides `admin`. Without groups they may do only what Roles and ClusterRoles give them; `system:masters` may
   * do everything, and what members of `system:nodes` send is not kept in the audit log.
   */
  readonly users?: readonly { readonly name: string; readonly groups?: readonly string[] }[]
  /** Created at the start as they are: Roles and their bindings, for example. */
  readonly objects?: readonly JsonObject[]
  /** Default: any that is free. */
  readonly port?: number
  /** How many changes a watch can be behind before it has to list again. Default 10,000. */
  readonly historyKept?: number
}

/** A part that can be held up as if its process had been stopped. */
export interface Pausable {
  pause(): void
  resume(): void
}

export interface EmbeddedKubernetes {
  readonly url: string
  /** PEM of the certificate authority that a client has to trust. */
  readonly ca: string
  readonly audit: AuditLog
  readonly controllerManager: Pausable
  readonly scheduler: Pausable
  /** What etcd is to others: held up, nothing can be read or written, and `/readyz/etcd` says so. */
  readonly storage: Pausable
  token(user: string): string
  /** YAML, with one context called `name`. */
  kubeconfig(options?: { readonly user?: string; readonly name?: string; readonly server?: string }): string
  /** Hangs: connections stay and new ones are accepted, but nothing is answered or told. Controllers wait, too. */
  pause(): void
  resume(): void
  /** Breaks all connections and refuses new ones. What is stored stays. */
  down(): Promise<void>
  /** Serves again on the same port. Watches have to begin anew. */
  up(): Promise<void>
  close(): Promise<void>
}

const ADMIN = 'admin'
const HISTORY_KEPT = 10_000

/** A small Kubernetes cluster without nodes, in this process: the API over HTTPS, controllers and a scheduler. */
export async function startEmbeddedKubernetes(
  options: EmbeddedKubernetesOptions = {},
): Promise<EmbeddedKubernetes> {
  const embedded = new Embedded(options)
  await embedded.up()
  return embedded
}

class Embedded implements EmbeddedKubernetes {
  readonly ca: string
  readonly audit = new AuditLog()
  readonly controllerManager: ControllerLoop
  readonly scheduler: ControllerLoop
  readonly storage: Pausable = {
    pause: () => this.#set(this.#storing, false),
    resume: () => this.#set(this.#storing, true),
  }
  readonly #store: Store
  readonly #users: Users
  readonly #server: ApiServer
  readonly #listener: TlsListener
  /** Shut while the API server hangs. */
  readonly #answering = new Gate()
  /** Shut while what it stores things in hangs. */
  readonly #storing = new Gate()
  /** Shut while there is no API server to talk to, for whatever reason. */
  readonly #reachable = new Gate()
  #isUp = false

  constructor({ users = [], objects = [], port = 0, historyKept = HISTORY_KEPT }: EmbeddedKubernetesOptions) {
    const authority = new CertificateAuthority('embedded Kubernetes')
    this.ca = authority.cert
    this.#users = new Users([{ name: ADMIN, groups: [MASTERS] }, ...users])
    this.#store = new Store(historyKept)
    const registry = new Registry(this.#store)
    const { controllerManager, scheduler } = startControllers(registry, this.#reachable)
    this.controllerManager = controllerManager
    this.scheduler = scheduler
    bootstrap(registry, objects)
    const gate = this.#answering
    const storage = this.#storing
    this.#server = new ApiServer({ registry, users: this.#users, audit: this.audit, gate, storage })
    const certificate = authority.issue('kube-apiserver', ['127.0.0.1', 'localhost'])
    this.#listener = new TlsListener(certificate, gate, port, (incoming, response) => {
      void this.#server.handle(incoming, response)
    })
  }

  get url(): string {
    return this.#listener.url
  }

  token(user: string): string {
    return this.#users.tokenOf(user)
  }

  kubeconfig({ user = ADMIN, name = 'embedded', server = this.url } = {}): string {
    const cluster = { server, 'certificate-authority-data': Buffer.from(this.ca).toString('base64') }
    return stringify({
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': name },
      clusters: [{ name, cluster }],
      users: [{ name: user, user: { token: this.token(user) } }],
      contexts: [{ name, context: { cluster: name, user } }],
    })
  }

  pause(): void {
    this.#set(this.#answering, false)
  }

  resume(): void {
    this.#set(this.#answering, true)
  }

  async down(): Promise<void> {
    this.#isUp = false
    this.#settle()
    this.#server.die()
    await this.#listener.stop()
    // A process that is started again answers.
    this.#answering.open()
    this.#store.forgetHistory()
  }

  async up(): Promise<void> {
    if (this.#isUp) return
    await this.#listener.start()
    this.#isUp = true
    this.#settle()
  }

  async close(): Promise<void> {
    this.controllerManager.close()
    this.scheduler.close()
    await this.down()
  }

  #set(gate: Gate, isOpen: boolean): void {
    if (isOpen) gate.open()
    else gate.shut()
    this.#settle()
  }

  #settle(): void {
    if (this.#isUp && this.#answering.isOpen && this.#storing.isOpen) this.#reachable.open()
    else this.#reachable.shut()
  }
}
