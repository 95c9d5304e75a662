import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AffinityGroup } from '../core/model.js'
import { Changes, type Unsubscribe } from './changes.js'
import { CloudOperations } from './cloud-operations.js'
import { CloudRequests, type RequestHook } from './cloud-requests.js'
import { judge } from './cloud-rules.js'
import { LocalServer } from './cloud-server.js'
import {
  type Act,
  type CloudOperation,
  type CloudState,
  NO_DELAYS,
  SIMULATED_OFFERINGS,
  type SimulatedApiServer,
  type SimulatedDelays,
  type SimulatedEtcdMember,
  type SimulatedMachine,
  type SimulatedOffering,
} from './cloud-state.js'
import { FaultList, type RequestMatch } from './faults.js'
import { type NewMachine, newMachine } from './new-machine.js'
import { RequestLog } from './request-log.js'

export interface SimulatedCloudOptions {
  readonly offerings?: readonly SimulatedOffering[]
  readonly affinityGroups?: readonly AffinityGroup[]
  readonly delays?: Partial<SimulatedDelays>
  /** A free one unless given. */
  readonly port?: number
}

/**
 * A machine cloud on 127.0.0.1 that speaks HTTP and JSON.
 *
 *     GET  /offerings                        GET  /machines/:id
 *     GET  /affinity-groups                  POST /machines/:id/stop | start
 *     GET  /clusters/:name                   PUT  /machines/:id/offering          {offering}
 *     GET  /clusters/:name/machines          PUT  /machines/:id/root-disk         {sizeGiB}
 *     GET  /clusters/:name/etcd/members      PUT  /machines/:id/affinity-groups   {names}
 *     POST /clusters/:name/etcd/leader       {to}
 *     GET  /operations/:id                   GET  /machines/:id/etcd/health | etcd/status | apiserver/readyz
 *
 * A changing call answers 202 `{operation: id}`, or 200 `{operation: null}` when there is nothing to do; everything
 * else is `{code, message}`. For scripts, never logged and never hit by a fault: `GET|DELETE /log`,
 * `GET|POST|DELETE /faults`, `PUT /clusters/:name/operation {operation}`.
 */
export class SimulatedCloud {
  readonly state: CloudState
  readonly faults = new FaultList()
  readonly log = new RequestLog()
  /** Told after every change of a machine. */
  readonly machineChanges = new Changes<SimulatedMachine>()
  readonly #operations: CloudOperations
  readonly #requests: CloudRequests
  readonly #server: LocalServer
  readonly #port: number
  #url: string | null = null
  #machines = 0

  constructor(options: SimulatedCloudOptions = {}) {
    this.state = {
      offerings: [...(options.offerings ?? SIMULATED_OFFERINGS)],
      affinityGroups: [...(options.affinityGroups ?? [])],
      clusters: {},
      machines: {},
      operations: {},
      delays: { ...NO_DELAYS, ...options.delays },
    }
    this.#port = options.port ?? 0
    this.#operations = new CloudOperations(this.state, (machine) => this.machineChanges.tell(machine))
    this.#requests = new CloudRequests(this.state, this.#operations, this.faults, this.log)
    this.#server = new LocalServer((request: IncomingMessage, response: ServerResponse) =>
      this.#requests.handle(request, response),
    )
  }

  async start(): Promise<void> {
    this.#url = await this.#server.start(this.#port)
  }

  async close(): Promise<void> {
    this.#operations.close()
    await this.#server.close()
  }

  get url(): string {
    if (this.#url === null) throw new Error('The simulated cloud has not been started')
    return this.#url
  }

  addMachine(wanted: NewMachine): SimulatedMachine {
    this.state.clusters[wanted.cluster] ??= {
      name: wanted.cluster,
      operation: null,
      etcdLeader: null,
      etcdTerm: 1,
      etcdIndex: 10_000,
    }
    this.#machines += 1
    const machine = newMachine(wanted, this.#machines, this.state)
    this.state.machines[machine.id] = machine
    this.machineChanges.tell(machine)
    return machine
  }

  /** The machine is gone as if somebody had deleted it; its Node object stays. */
  removeMachine(nameOrId: string): void {
    const machine = this.machine(nameOrId)
    delete this.state.machines[machine.id]
    machine.power = 'stopped'
    machine.upSince = null
    this.machineChanges.tell(machine)
  }

  /** By name or id; throws when there is none. */
  machine(nameOrId: string): SimulatedMachine {
    const found =
      this.state.machines[nameOrId] ??
      Object.values(this.state.machines).find(({ name }) => name === nameOrId)
    if (found === undefined) throw new Error(`The simulated cloud has no machine ${nameOrId}`)
    return found
  }

  machinesOf(cluster: string): SimulatedMachine[] {
    return Object.values(this.state.machines).filter((machine) => machine.cluster === cluster)
  }

  /** Somebody else acts, past the request log: null when there is nothing to do. Throws what the cloud would refuse. */
  act(nameOrId: string, act: Act): CloudOperation | null {
    const machine = this.machine(nameOrId)
    const verdict = judge(this.state, machine, act)
    if (verdict.kind === 'refused') throw new Error(verdict.message)
    return verdict.kind === 'nothingToDo' ? null : this.#operations.begin(machine, act, null, () => undefined)
  }

  /** The power fails: off at once, and nothing is said to anybody. */
  crash(nameOrId: string): void {
    const machine = this.machine(nameOrId)
    machine.power = 'stopped'
    machine.upSince = null
    this.machineChanges.tell(machine)
  }

  /** Ends an operation now, also one that a fault keeps from ending. */
  finishOperation(id: string): void {
    this.#operations.finish(id)
  }

  /** Makes an etcd member sick, or well again; it is reachable only while its machine runs. */
  scriptEtcd(nameOrId: string, oddity: Partial<Omit<SimulatedEtcdMember, 'id'>>): void {
    const machine = this.machine(nameOrId)
    if (machine.etcd === null) throw new Error(`${machine.name} runs no etcd`)
    Object.assign(machine.etcd, oddity)
  }

  /** What `/readyz` of the API server on this machine says while the machine runs. */
  scriptApiServer(nameOrId: string, oddity: Partial<SimulatedApiServer>): void {
    const machine = this.machine(nameOrId)
    if (machine.apiServer === null) throw new Error(`${machine.name} runs no API server`)
    Object.assign(machine.apiServer, oddity)
  }

  setClusterOperation(cluster: string, words: string | null): void {
    const found = this.state.clusters[cluster]
    if (found === undefined) throw new Error(`The simulated cloud has no cluster ${cluster}`)
    found.operation = words
  }

  /**
   * Runs `hook` for every matching request and lets the request wait for it: `arrival` before anything is done,
   * `answer` (the default) when the call has been accepted and its answer is about to be sent.
   */
  onRequest(match: RequestMatch, hook: RequestHook, at: 'arrival' | 'answer' = 'answer'): Unsubscribe {
    return this.#requests.addHook(match, hook, at)
  }

  /** Resolves when `condition` holds for the machine; looks at every change of any machine. */
  untilMachine(
    nameOrId: string,
    what: string,
    condition: (machine: SimulatedMachine) => boolean,
    timeoutMs = 10_000,
  ): Promise<void> {
    const machine = this.machine(nameOrId)
    return this.machineChanges.until(`${machine.name} ${what}`, () => condition(machine), timeoutMs)
  }
}
