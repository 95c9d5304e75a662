import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureControlPlane } from '../../scripts/control-plane.mjs'
import {
  type EmbeddedKubernetes,
  type Pausable,
  startEmbeddedKubernetes,
} from '../../src/simulation/kubernetes/embedded-kubernetes.js'
import { WRITING_VERBS } from '../../src/simulation/kubernetes/server/audit-log.js'
import { type AuditFilter, AuditLog, type AuditRecord } from './audit.js'
import { ControlPlaneClient } from './control-plane.js'
import { freePort } from './ports.js'

/** No test of this run asks for a real control plane, which may be neither built nor there. */
export function onlyEmbedded(): boolean {
  return process.env.NODEROLL_KUBERNETES === 'embedded'
}

/** A part of a control plane that a test can hold up or end. */
export interface ControlPlanePart {
  readonly name: string
  readonly pid: number
  /** As if its machine hung: connections stay open and nothing answers. */
  pause(): void
  resume(): void
  kill(): Promise<void>
  restart(): Promise<void>
}

/** The embedded Kubernetes with everything that tests know of a real control plane. */
export class EmbeddedControlPlane extends ControlPlaneClient {
  override readonly audit: AuditLog
  readonly apiServer: ControlPlanePart
  readonly etcd: ControlPlanePart
  readonly controllerManager: ControlPlanePart
  readonly scheduler: ControlPlanePart
  readonly #embedded: EmbeddedKubernetes

  constructor(embedded: EmbeddedKubernetes, users: readonly string[], kubectl: string) {
    const { url, ca } = embedded
    super({
      ...{ name: 'embedded', url, urls: [url], ca, auditLog: '', kubectl, version: 'v1.36.0' },
      tokens: Object.fromEntries(users.map((user) => [user, embedded.token(user)])),
      folder: mkdtempSync(join(tmpdir(), 'noderoll-embedded-')),
    })
    this.#embedded = embedded
    this.audit = new EmbeddedAuditLog(embedded)
    this.apiServer = {
      ...{ name: 'kube-apiserver', pid: process.pid },
      pause: () => embedded.pause(),
      resume: () => embedded.resume(),
      kill: () => embedded.down(),
      restart: () => embedded.up(),
    }
    this.etcd = part('etcd-1', embedded.storage)
    this.controllerManager = part('kube-controller-manager', embedded.controllerManager)
    this.scheduler = part('kube-scheduler', embedded.scheduler)
  }

  get adminToken(): string {
    return this.token('admin')
  }

  override close(): void {
    super.close()
    void this.#embedded.close()
    rmSync(this.access.folder, { recursive: true, force: true })
  }
}

/** With the users of the real control plane: `admin`, `noderoll` without any group, and `kubelet`. */
export async function embeddedControlPlane(): Promise<EmbeddedControlPlane> {
  const users = [{ name: 'noderoll' }, { name: 'kubelet', groups: ['system:masters', 'system:nodes'] }]
  const [embedded, kubectl] = await Promise.all([
    startEmbeddedKubernetes({ users, port: await freePort() }),
    pathOfKubectl(),
  ])
  return new EmbeddedControlPlane(embedded, ['admin', ...users.map(({ name }) => name)], kubectl)
}

/** The records of the embedded API server, which are complete as soon as there is an answer. */
class EmbeddedAuditLog extends AuditLog {
  readonly #embedded: EmbeddedKubernetes

  constructor(embedded: EmbeddedKubernetes) {
    super({ file: '', urls: [], ca: '', token: '' })
    this.#embedded = embedded
  }

  override async mark(): Promise<number> {
    return this.#embedded.audit.end
  }

  override async since(position: number, filter: AuditFilter = {}): Promise<AuditRecord[]> {
    const matches = typeof filter === 'function' ? filter : (record: AuditRecord) => isLike(record, filter)
    return this.#embedded.audit.since(position).filter(matches)
  }

  override async writes(position: number, user?: string): Promise<AuditRecord[]> {
    return await this.since(
      position,
      (record) => WRITING_VERBS.includes(record.verb) && (user === undefined || record.user === user),
    )
  }
}

function isLike(record: AuditRecord, wanted: Partial<AuditRecord>): boolean {
  return Object.entries(wanted).every(([key, value]) => record[key as keyof AuditRecord] === value)
}

/** Killed and held up are the same to something that keeps nothing of its own. */
function part(name: string, pausable: Pausable): ControlPlanePart {
  const pause = () => pausable.pause()
  const resume = () => pausable.resume()
  return {
    ...{ name, pid: process.pid, pause, resume },
    kill: async () => pause(),
    restart: async () => resume(),
  }
}

/** Built with the real control plane; without the real parts there is none, and only tests of kubectl need it. */
async function pathOfKubectl(): Promise<string> {
  if (process.env.NODEROLL_TEST_PARTS === 'none' || onlyEmbedded()) return ''
  return join((await ensureControlPlane()).dir, 'kubectl')
}
