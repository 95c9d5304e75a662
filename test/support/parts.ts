import { inject } from 'vitest'
import { cleanCluster } from './clean.js'
import { ControlPlaneClient } from './control-plane.js'
import { type ControlPlanePart, embeddedControlPlane, onlyEmbedded } from './embedded-control-plane.js'
import { freeze, thaw } from './freeze.js'
import { SLOTS, type SlotAccess } from './slots.js'
import type { TemporalAccess } from './temporal.js'
import { waitUntil } from './wait.js'

export { cleanCluster }

/** A process of the control plane of this worker's slot. */
class SlotProcess {
  readonly name: string
  readonly #act: (action: string) => Promise<number | undefined>
  #pid: number | undefined

  constructor(name: string, pid: number | undefined, act: (action: string) => Promise<number | undefined>) {
    this.name = name
    this.#pid = pid
    this.#act = act
  }

  get pid(): number {
    if (this.#pid === undefined) throw new Error(`${this.name} is not running`)
    return this.#pid
  }

  /** As if its machine hung: connections stay open and nothing answers. */
  pause(): void {
    freeze(this.pid)
  }

  resume(): void {
    thaw(this.pid)
  }

  async kill(): Promise<void> {
    this.#pid = await this.#act('kill')
  }

  /** On the same port; resolves when it is ready. */
  async restart(): Promise<void> {
    this.#pid = await this.#act('restart')
  }
}

/** The control plane of this worker's slot: no other test file uses it meanwhile. */
export class RealControlPlane extends ControlPlaneClient {
  readonly apiServer: ControlPlanePart
  readonly etcd: ControlPlanePart
  readonly controllerManager: ControlPlanePart
  readonly scheduler: ControlPlanePart

  constructor(slot: SlotAccess, ask: (path: string) => Promise<SlotAccess>) {
    super(slot.access)
    const part = (name: string) => {
      const pidIn = ({ processes }: SlotAccess) => processes.find((one) => one.name === name)?.pid
      return new SlotProcess(name, pidIn(slot), async (action) => pidIn(await ask(`${name}/${action}`)))
    }
    this.apiServer = part('kube-apiserver')
    this.etcd = part('etcd-1')
    this.controllerManager = part('kube-controller-manager')
    this.scheduler = part('kube-scheduler')
  }

  get adminToken(): string {
    return this.token('admin')
  }
}

/**
 * A real control plane, started if it is not running, repaired if the file before has broken it, and empty. It has the
 * users `admin`, `noderoll` (without any group: RBAC applies) and `kubelet` (may do everything; the audit log keeps no
 * bodies of it). `NODEROLL_KUBERNETES=embedded` puts the embedded Kubernetes in its place.
 */
export async function realControlPlane(): Promise<RealControlPlane> {
  if (onlyEmbedded()) return await embeddedControlPlane()
  const path = `control-plane/${slot()}`
  const controlPlane = new RealControlPlane(await ask<SlotAccess>(path), (action) => ask(`${path}/${action}`))
  await cleanCluster(controlPlane)
  await revokeNoderoll(controlPlane)
  return controlPlane
}

const RBAC = '/apis/rbac.authorization.k8s.io/v1'

/** What the file before has allowed the user `noderoll` must not help this one. */
async function revokeNoderoll(controlPlane: ControlPlaneClient): Promise<void> {
  const { api } = controlPlane
  const roles = await api.list(`${RBAC}/rolebindings`)
  const clusterRoles = await api.list(`${RBAC}/clusterrolebindings`)
  const ofNoderoll = [...roles, ...clusterRoles].filter(({ subjects = [] }) =>
    subjects.some(({ name }: { name: string }) => name === 'noderoll'),
  )
  for (const { metadata } of ofNoderoll) {
    const where = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`
    const plural = metadata.namespace === undefined ? 'clusterrolebindings' : 'rolebindings'
    await api.ok('DELETE', `${RBAC}${where}/${plural}/${metadata.name}`)
  }
  const noderoll = controlPlane.apiOf('noderoll')
  await waitUntil(async () => (await noderoll.call('GET', '/api/v1/nodes')).status === 403, {
    for: 'the rules of the file before to be forgotten',
  })
  noderoll.close()
}

/** The shared Temporal dev server, and a namespace of it that no other test file uses meanwhile. */
export async function realTemporal(): Promise<TemporalAccess & { namespace: string }> {
  return { ...(await ask<TemporalAccess>('temporal')), namespace: `slot-${slot()}` }
}

function slot(): number {
  return ((Number(process.env.VITEST_POOL_ID ?? 1) - 1) % SLOTS) + 1
}

async function ask<T>(path: string): Promise<T> {
  const testBed = inject('testBed')
  if (!testBed) throw new Error('this test needs the real parts, which NODEROLL_TEST_PARTS=none has left out')
  const answer = await fetch(`${testBed}/${path}`)
  if (!answer.ok) throw new Error(await answer.text())
  return (await answer.json()) as T
}
