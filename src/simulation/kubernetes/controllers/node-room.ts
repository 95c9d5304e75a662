import type { Node } from '../kinds/node.js'
import { isFinished, type Pod } from '../kinds/pod.js'
import { controllerOf } from '../objects/api-object.js'
import { thousandths, wholeUnits } from '../objects/quantity.js'

interface Use {
  pods: number
  cpuThousandths: number
  memoryBytes: number
  /** By the UID of who keeps the pods. */
  readonly siblings: Map<string, number>
}

/** What is in use on each node, kept up to date while pods are placed one after the other. */
export class NodeRoom {
  readonly nodes: readonly Node[]
  readonly #podsOf: (nodeName: string) => readonly Pod[]
  readonly #uses = new Map<string, Use>()

  constructor(nodes: readonly Node[], podsOf: (nodeName: string) => readonly Pod[]) {
    this.nodes = nodes
    this.#podsOf = podsOf
  }

  podsOn(nodeName: string): number {
    return this.#use(nodeName).pods
  }

  siblingsOn(nodeName: string, pod: Pod): number {
    return this.#use(nodeName).siblings.get(keeper(pod)) ?? 0
  }

  take(nodeName: string, pod: Pod): void {
    add(this.#use(nodeName), pod)
  }

  /** What the node has too little of for the pod; null when it has enough. A node that says nothing has nothing. */
  lackingFor(pod: Pod, { metadata, status: { allocatable = {} } }: Node): string | null {
    const { pods, cpuThousandths, memoryBytes } = this.#use(metadata.name)
    const wanted = requestsOf(pod)
    if (pods + 1 > wholeUnits(allocatable.pods)) return 'Too many pods'
    const cpu = wanted.cpuThousandths
    if (cpu > 0 && cpuThousandths + cpu > thousandths(allocatable.cpu)) return 'Insufficient cpu'
    const memory = wanted.memoryBytes
    if (memory > 0 && memoryBytes + memory > wholeUnits(allocatable.memory)) return 'Insufficient memory'
    return null
  }

  #use(nodeName: string): Use {
    let use = this.#uses.get(nodeName)
    if (use === undefined) {
      use = { pods: 0, cpuThousandths: 0, memoryBytes: 0, siblings: new Map() }
      for (const pod of this.#podsOf(nodeName)) if (!isFinished(pod)) add(use, pod)
      this.#uses.set(nodeName, use)
    }
    return use
  }
}

function add(use: Use, pod: Pod): void {
  const { cpuThousandths, memoryBytes } = requestsOf(pod)
  use.pods += 1
  use.cpuThousandths += cpuThousandths
  use.memoryBytes += memoryBytes
  use.siblings.set(keeper(pod), (use.siblings.get(keeper(pod)) ?? 0) + 1)
}

function requestsOf({ spec }: Pod): { cpuThousandths: number; memoryBytes: number } {
  let cpuThousandths = 0
  let memoryBytes = 0
  for (const { resources } of spec.containers) {
    cpuThousandths += thousandths(resources?.requests?.cpu)
    memoryBytes += wholeUnits(resources?.requests?.memory)
  }
  return { cpuThousandths, memoryBytes }
}

function keeper(pod: Pod): string {
  return controllerOf(pod)?.uid ?? ''
}
