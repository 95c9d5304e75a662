import type { z } from 'zod'
import type { Machine } from '../../core/model.js'
import { PortError } from '../../ports/errors.js'
import type { Machines, MachineWants, Offering, Operation, OperationState } from '../../ports/machines.js'
import { SameQuestion } from '../../ports/same-question.js'
import { SimulatedClient } from './client.js'
import {
  acceptedAnswer,
  affinityGroupsAnswer,
  clusterAnswer,
  machineAnswer,
  machinesAnswer,
  offeringsAnswer,
  operationAnswer,
  type SimulatedOptions,
} from './schema.js'

/** Settings are judged for thousands of machines in a row: an answer this young serves the next of them, too. */
const LASTS_MS = 1_000

/** Machines of a simulated cloud, over its HTTP API. */
export class SimulatedMachines implements Machines {
  readonly #client: SimulatedClient
  readonly #cluster: string
  readonly #offerings = new SameQuestion<Offering[]>(LASTS_MS)
  readonly #groups = new SameQuestion<z.output<typeof affinityGroupsAnswer>>(LASTS_MS)

  constructor({ url, cluster }: SimulatedOptions) {
    this.#client = new SimulatedClient(url)
    this.#cluster = cluster
  }

  async list(signal: AbortSignal): Promise<Machine[]> {
    const { machines } = await this.#client.call(`${this.#clusterPath()}/machines`, machinesAnswer, {
      signal,
    })
    return machines.map(({ cluster, ...machine }) => machine)
  }

  async get(id: string, signal: AbortSignal): Promise<Machine | null> {
    const answer = await orNull(this.#client.call(machinePath(id), machineAnswer, { signal }))
    if (answer === null || answer.cluster !== this.#cluster) return null
    const { cluster, ...machine } = answer
    return machine
  }

  async offerings(signal: AbortSignal): Promise<Offering[]> {
    return (await this.#client.call('/offerings', offeringsAnswer, { signal })).offerings
  }

  async refusals(machine: Machine, wants: MachineWants, signal: AbortSignal): Promise<string[]> {
    const reasons: string[] = []
    if (wants.offering !== null) {
      const offerings = await this.#offerings.answer(signal, (shared) => this.offerings(shared))
      if (!offerings.some(({ name }) => name === wants.offering)) {
        reasons.push(`there is no offering ${wants.offering}`)
      }
    }
    const disk = machine.rootDiskGiB
    if (wants.rootDiskGiB !== null && disk !== null && wants.rootDiskGiB !== disk) {
      if (machine.rootDiskFixed !== null) {
        reasons.push(`the root disk of ${machine.name} cannot change size: ${machine.rootDiskFixed}`)
      } else if (wants.rootDiskGiB < disk) {
        reasons.push(
          `the root disk of ${machine.name} has ${disk} GiB and cannot shrink to ${wants.rootDiskGiB} GiB`,
        )
      }
    }
    if (wants.affinityGroups !== null)
      reasons.push(...(await this.#groupRefusals(wants.affinityGroups, signal)))
    return reasons
  }

  async clusterOperation(signal: AbortSignal): Promise<string | null> {
    return (await this.#client.call(this.#clusterPath(), clusterAnswer, { signal })).operation
  }

  stop(id: string, signal: AbortSignal): Promise<Operation> {
    return this.#act('POST', `${machinePath(id)}/stop`, undefined, signal)
  }

  start(id: string, signal: AbortSignal): Promise<Operation> {
    return this.#act('POST', `${machinePath(id)}/start`, undefined, signal)
  }

  setOffering(id: string, offering: string, signal: AbortSignal): Promise<Operation> {
    return this.#act('PUT', `${machinePath(id)}/offering`, { offering }, signal)
  }

  growRootDisk(id: string, sizeGiB: number, signal: AbortSignal): Promise<Operation> {
    return this.#act('PUT', `${machinePath(id)}/root-disk`, { sizeGiB }, signal)
  }

  async setAffinityGroups(id: string, names: readonly string[], signal: AbortSignal): Promise<Operation> {
    // The cloud replaces the whole list, so what must stay has to be in it.
    const machine = await this.get(id, signal)
    if (machine === null) throw new PortError('notFound', `there is no machine ${id} in ${this.#cluster}`)
    const kept = machine.affinityGroups.filter((group) => group.explicitDedication).map((group) => group.name)
    return await this.#act(
      'PUT',
      `${machinePath(id)}/affinity-groups`,
      { names: [...new Set([...kept, ...names])] },
      signal,
    )
  }

  async operation(operation: string, signal: AbortSignal): Promise<OperationState> {
    const path = `/operations/${encodeURIComponent(operation)}`
    const answer = await orNull(this.#client.call(path, operationAnswer, { signal }))
    if (answer === null) return { kind: 'forgotten', why: `the cloud knows no operation ${operation}` }
    if (answer.state === 'running' || answer.state === 'done') return { kind: answer.state }
    return { kind: answer.state, why: answer.why ?? 'the cloud gives no reason' }
  }

  async #act(method: 'POST' | 'PUT', path: string, body: unknown, signal: AbortSignal): Promise<Operation> {
    return (await this.#client.call(path, acceptedAnswer, { method, body, signal })).operation
  }

  async #groupRefusals(wanted: readonly string[], signal: AbortSignal): Promise<string[]> {
    const { affinityGroups } = await this.#groups.answer(signal, (shared) =>
      this.#client.call('/affinity-groups', affinityGroupsAnswer, { signal: shared }),
    )
    return wanted.flatMap((name) => {
      const group = affinityGroups.find((one) => one.name === name)
      if (group === undefined) return [`there is no affinity group ${name}`]
      return group.explicitDedication
        ? [`affinity group ${name} is an explicit dedication: it cannot be set`]
        : []
    })
  }

  #clusterPath(): string {
    return `/clusters/${encodeURIComponent(this.#cluster)}`
  }
}

function machinePath(id: string): string {
  return `/machines/${encodeURIComponent(id)}`
}

/** Null for what the cloud says does not exist. */
async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof PortError && error.kind === 'notFound') return null
    throw error
  }
}
