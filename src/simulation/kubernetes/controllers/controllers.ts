import { PODS } from '../kinds/pod.js'
import { REPLICA_SETS } from '../kinds/workload.js'
import type { ApiObject } from '../objects/api-object.js'
import { ObjectIndex } from '../objects/object-index.js'
import type { Registry } from '../objects/registry.js'
import { RESOURCES } from '../objects/resources.js'
import type { Gate } from '../server/gate.js'
import { ControllerLoop } from './controller-loop.js'
import { DaemonSetController } from './daemon-set-controller.js'
import { DeploymentController } from './deployment-controller.js'
import { DisruptionController } from './disruption-controller.js'
import { GarbageCollector } from './garbage-collector.js'
import { NamespaceController } from './namespace-controller.js'
import { NodeController } from './node-controller.js'
import { PodCollector } from './pod-collector.js'
import { ReplicaSetController } from './replica-set-controller.js'
import { Scheduler } from './scheduler.js'
import { StatefulSetController } from './stateful-set-controller.js'

/** Everything that acts in the cluster by itself: what the controller manager runs, and the scheduler. */
export function startControllers(
  registry: Registry,
  gate: Gate,
): { readonly controllerManager: ControllerLoop; readonly scheduler: ControllerLoop } {
  const { store } = registry
  const ownersOf = ({ metadata }: ApiObject) => (metadata.ownerReferences ?? []).map(({ uid }) => uid)
  const podsByOwner = new ObjectIndex(store, PODS, ownersOf)
  const podsByNode = new ObjectIndex(store, PODS, ({ spec }) => [spec.nodeName ?? ''])
  const setsByOwner = new ObjectIndex(store, REPLICA_SETS, ownersOf)
  const dependents = new Map(
    RESOURCES.map((resource) => [resource, new ObjectIndex(store, resource, ownersOf)] as const),
  )
  return {
    controllerManager: new ControllerLoop(store, gate, [
      // First of all: it knows disrupted pods by name, and has to see one gone before another has that name.
      new DisruptionController(store),
      new NodeController(store),
      new DeploymentController(registry, setsByOwner),
      new ReplicaSetController(registry, podsByOwner),
      new StatefulSetController(registry, podsByOwner),
      new DaemonSetController(registry, podsByOwner),
      new GarbageCollector(store, dependents),
      new NamespaceController(store),
      new PodCollector(store, podsByNode),
    ]),
    scheduler: new ControllerLoop(store, gate, [new Scheduler(store, podsByNode)]),
  }
}
