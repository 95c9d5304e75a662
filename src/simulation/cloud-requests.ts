import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Unsubscribe } from './changes.js'
import { type Answer, answerCall, problem } from './cloud-answers.js'
import { type CloudCall, parseCall } from './cloud-calls.js'
import type { CloudOperations } from './cloud-operations.js'
import { jsonBody, sendJson } from './cloud-server.js'
import type { CloudState } from './cloud-state.js'
import { type FaultEffect, type FaultList, matches, type RequestMatch } from './faults.js'
import { parseFault } from './parse-fault.js'
import type { LoggedRequest, RequestLog } from './request-log.js'

export type RequestHook = (request: LoggedRequest) => void | Promise<void>

interface Hook {
  readonly match: RequestMatch
  readonly hook: RequestHook
  readonly at: 'arrival' | 'answer'
}

/** Every request's way through the cloud: log, hooks, faults, the rules, the answer. */
export class CloudRequests {
  readonly #state: CloudState
  readonly #operations: CloudOperations
  readonly #faults: FaultList
  readonly #log: RequestLog
  readonly #hooks = new Set<Hook>()

  constructor(state: CloudState, operations: CloudOperations, faults: FaultList, log: RequestLog) {
    this.#state = state
    this.#operations = operations
    this.#faults = faults
    this.#log = log
  }

  addHook(match: RequestMatch, hook: RequestHook, at: 'arrival' | 'answer'): Unsubscribe {
    const entry = { match, hook, at }
    this.#hooks.add(entry)
    return () => void this.#hooks.delete(entry)
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const method = request.method ?? 'GET'
    const path = new URL(request.url ?? '/', 'http://cloud').pathname
    const body = await jsonBody(request)
    const scripted = this.#script(method, path, body)
    if (scripted !== null) return sendJson(response, scripted.status, scripted.body)

    const call = parseCall(method, path, body)
    const client = request.headers['x-client']
    const entry = this.#log.arrived({
      method,
      path,
      call: call.call,
      ...this.#subject(call),
      body: body ?? null,
      client: typeof client === 'string' ? client : null,
    })
    await this.#runHooks('arrival', entry)
    const fault = this.#faults.take(entry)
    if (fault?.kind === 'blackHole') return this.#log.answered(entry, 'none', null)
    const answer =
      fault?.kind === 'status'
        ? faultAnswer(fault)
        : answerCall(this.#state, this.#operations, call, fault, () => this.#log.tookEffect(entry))
    await this.#runHooks('answer', entry)
    if (answer === null || fault?.kind === 'answerLost') {
      this.#log.answered(entry, 'lost', null)
      response.socket?.destroy()
      return
    }
    sendJson(response, answer.status, answer.body, answer.headers)
    this.#log.answered(entry, 'sent', answer.status)
  }

  async #runHooks(at: 'arrival' | 'answer', entry: LoggedRequest): Promise<void> {
    for (const { match, hook, at: when } of [...this.#hooks]) {
      if (when === at && matches(match, entry)) await hook(entry)
    }
  }

  /** The endpoints a script uses over HTTP, null for all others. */
  #script(method: string, path: string, body: unknown): Answer | null {
    const route = `${method} ${path}`
    if (route === 'GET /log') return { status: 200, body: { requests: this.#log.all() } }
    if (route === 'GET /faults') return { status: 200, body: { faults: this.#faults.list() } }
    if (route === 'DELETE /log') return done(() => this.#log.clear())
    if (route === 'DELETE /faults') return done(() => this.#faults.clear())
    if (route === 'POST /faults') {
      const fault = parseFault(body)
      if (typeof fault === 'string') return problem(400, 'InvalidRequest', fault)
      return done(() => this.#faults.add(fault))
    }
    const cluster = /^PUT \/clusters\/([^/]+)\/operation$/.exec(route)?.[1]
    if (cluster === undefined) return null
    const found = this.#state.clusters[decodeURIComponent(cluster)]
    const words = (body as { operation?: unknown } | undefined)?.operation
    if (found === undefined) return problem(404, 'NotFound', `no cluster ${cluster}`)
    if (words !== null && typeof words !== 'string')
      return problem(400, 'InvalidRequest', 'operation: words or null')
    return done(() => {
      found.operation = words
    })
  }

  /** What faults, hooks and readers of the log go by. */
  #subject(call: CloudCall): Pick<LoggedRequest, 'machine' | 'machineId' | 'offering'> {
    const id =
      'machine' in call
        ? call.machine
        : 'operation' in call
          ? this.#state.operations[call.operation]?.machine
          : null
    const machine = this.#state.machines[id ?? '']
    const asked = 'act' in call && call.act.kind === 'setOffering' ? call.act.offering : null
    return {
      machine: machine?.name ?? null,
      machineId: machine?.id ?? null,
      offering: asked ?? machine?.offering ?? null,
    }
  }
}

function faultAnswer(fault: FaultEffect & { kind: 'status' }): Answer {
  const { status, code = `Scripted${status}`, message = 'a scripted fault', retryAfterSeconds } = fault
  const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }
  return { status, body: { code, message }, headers }
}

function done(act: () => void): Answer {
  act()
  return { status: 200, body: {} }
}
