import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import {
  DEPLOYMENTS,
  type Deployment,
  type PodTemplate,
  REPLICA_SETS,
  type Workload,
  type WorkloadStatus,
} from '../kinds/workload.js'
import { controllerOf, isTerminating, timestamp, withCondition } from '../objects/api-object.js'
import type { ObjectIndex } from '../objects/object-index.js'
import type { Registry } from '../objects/registry.js'
import type { Change, Store } from '../objects/store.js'
import type { Controller } from './controller.js'
import { ownedBy } from './pod-creation.js'

const HASH = 'pod-template-hash'
const HASH_LENGTH = 10

/** One ReplicaSet for each template a Deployment has had; pods move to the newest without going below the limits. */
export class DeploymentController implements Controller {
  readonly #store: Store
  readonly #registry: Registry
  readonly #sets: ObjectIndex<Workload>

  constructor(registry: Registry, sets: ObjectIndex<Workload>) {
    this.#registry = registry
    this.#store = registry.store
    this.#sets = sets
  }

  keysOf({ resource, object }: Change): readonly string[] {
    const { namespace, name } = object.metadata
    if (resource === DEPLOYMENTS) return [`${namespace}/${name}`]
    const owner = resource === REPLICA_SETS ? controllerOf(object) : undefined
    return owner?.kind === DEPLOYMENTS.kind ? [`${namespace}/${owner.name}`] : []
  }

  reconcile(key: string): undefined {
    const [namespace = '', name = ''] = key.split('/')
    const deployment = this.#store.find(DEPLOYMENTS, namespace, name)
    if (deployment === undefined || isTerminating(deployment)) return
    const current = this.#setFor(deployment)
    const old = this.#sets.get(deployment.metadata.uid).filter((set) => set !== current)
    this.#scale(deployment, current, old)
    this.#writeStatus(deployment, current.metadata.uid)
  }

  #setFor(deployment: Deployment): Workload {
    const { namespace = '', name, uid } = deployment.metadata
    const { selector, template } = deployment.spec
    const hash = hashOf(template)
    const known = this.#sets.get(uid).find(({ metadata }) => metadata.labels?.[HASH] === hash)
    if (known !== undefined) return known
    const labels = { ...template.metadata?.labels, [HASH]: hash }
    return this.#registry.create(REPLICA_SETS, namespace, {
      metadata: { name: `${name}-${hash}`, labels, ownerReferences: [ownedBy(DEPLOYMENTS, deployment)] },
      spec: {
        replicas: 0,
        selector: { ...selector, matchLabels: { ...selector.matchLabels, [HASH]: hash } },
        template: { ...template, metadata: { ...template.metadata, labels } },
      },
    })
  }

  #scale(deployment: Deployment, current: Workload, old: readonly Workload[]): void {
    const wanted = deployment.spec.replicas ?? 1
    const oldTotal = sum(old, ({ spec }) => spec.replicas ?? 0)
    if (oldTotal === 0) {
      this.#setReplicas(current, wanted)
      return
    }
    const { surge, unavailable } = limitsOf(deployment, wanted)
    const now = current.spec.replicas ?? 0
    this.#setReplicas(current, Math.max(Math.min(now, wanted), Math.min(wanted, wanted + surge - oldTotal)))
    const available = sum([current, ...old], ({ status }) => status.availableReplicas ?? 0)
    let mayGo = Math.max(0, available - (wanted - unavailable))
    for (const set of old) {
      const replicas = set.spec.replicas ?? 0
      // Those that do not serve anyway are no loss.
      const idle = Math.max(0, replicas - (set.status.availableReplicas ?? 0))
      const leaves = Math.min(replicas, idle + mayGo)
      mayGo -= Math.max(0, leaves - idle)
      this.#setReplicas(set, replicas - leaves)
    }
  }

  #setReplicas(set: Workload, replicas: number): void {
    if (set.spec.replicas === replicas) return
    const { namespace = '', name } = set.metadata
    this.#registry.update(REPLICA_SETS, namespace, name, (stored) => ({
      ...stored,
      spec: { ...stored.spec, replicas },
    }))
  }

  #writeStatus(deployment: Deployment, currentUid: string): void {
    const sets = this.#sets.get(deployment.metadata.uid)
    const current = sets.filter(({ metadata }) => metadata.uid === currentUid)
    const wanted = deployment.spec.replicas ?? 1
    const replicas = sum(sets, ({ status }) => status.replicas ?? 0)
    const ready = sum(sets, ({ status }) => status.readyReplicas ?? 0)
    const updated = sum(current, ({ status }) => status.replicas ?? 0)
    const missing = Math.max(0, Math.max(wanted, replicas) - ready)
    const isAvailable = ready >= wanted - limitsOf(deployment, wanted).unavailable
    const available = {
      ...({ type: 'Available', status: isAvailable ? 'True' : 'False' } as const),
      reason: isAvailable ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
      message: `Deployment ${isAvailable ? 'has' : 'does not have'} minimum availability.`,
    }
    const status: WorkloadStatus = {
      observedGeneration: deployment.metadata.generation ?? 0,
      ...(replicas === 0 ? {} : { replicas }),
      ...(updated === 0 ? {} : { updatedReplicas: updated }),
      ...(ready === 0 ? {} : { readyReplicas: ready, availableReplicas: ready }),
      ...(missing === 0 ? {} : { unavailableReplicas: missing }),
      conditions: withCondition(deployment.status.conditions, available, timestamp()),
    }
    if (isDeepStrictEqual(status, deployment.status)) return
    this.#store.put(DEPLOYMENTS, { ...deployment, status })
  }
}

/** Percentages of the surge round up, of what may be missing down; both nothing would never end. */
function limitsOf(
  { spec: { strategy } }: Deployment,
  wanted: number,
): { surge: number; unavailable: number } {
  const { maxSurge = 0, maxUnavailable = wanted } = strategy.rollingUpdate ?? {}
  const surge = typeof maxSurge === 'number' ? maxSurge : Math.ceil(shareOf(maxSurge, wanted))
  const unavailable =
    typeof maxUnavailable === 'number' ? maxUnavailable : Math.floor(shareOf(maxUnavailable, wanted))
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable }
}

function shareOf(percent: string, of: number): number {
  return (Number.parseInt(percent, 10) * of) / 100
}

function hashOf(template: PodTemplate): string {
  return createHash('sha256').update(JSON.stringify(template)).digest('hex').slice(0, HASH_LENGTH)
}

function sum(sets: readonly Workload[], numberOf: (set: Workload) => number): number {
  return sets.reduce((total, set) => total + numberOf(set), 0)
}
