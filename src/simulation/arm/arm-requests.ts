import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { jsonBody } from '../cloud-server.js'
import { type ArmAnswer, answer, refuse } from './arm-answer.js'
import type { ArmBodies } from './arm-bodies.js'
import { type ArmCall, parseArmCall } from './arm-calls.js'
import { type ArmFaultEffect, type ArmFaults, type ArmMatch, armMatches } from './arm-faults.js'
import type { ArmLog, ArmRequest } from './arm-log.js'
import { pageOf } from './arm-pages.js'
import { answerRead } from './arm-reads.js'
import { fieldsOf } from './arm-rules.js'
import type { ArmSettings } from './arm-settings.js'
import { type ArmOperation, type ArmState, keyOf } from './arm-state.js'
import type { ArmWrites } from './arm-writes.js'

export type ArmHook = (request: ArmRequest) => void | Promise<void>

interface Hooked {
  readonly match: ArmMatch
  readonly hook: ArmHook
  readonly at: 'arrival' | 'answer'
}

export interface ArmParts {
  readonly settings: ArmSettings
  readonly state: () => ArmState
  readonly bodies: ArmBodies
  readonly writes: ArmWrites
  readonly faults: ArmFaults
  readonly log: ArmLog
}

/** Every request's way through the stand-in: log, hooks, faults, the rules, the answer. */
export class ArmRequests {
  readonly #parts: ArmParts
  readonly #hooks = new Set<Hooked>()

  constructor(parts: ArmParts) {
    this.#parts = parts
  }

  addHook(match: ArmMatch, hook: ArmHook, at: 'arrival' | 'answer'): () => void {
    const entry = { match, hook, at }
    this.#hooks.add(entry)
    return () => void this.#hooks.delete(entry)
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { log, faults } = this.#parts
    const method = request.method ?? 'GET'
    const origin = `https://${request.headers.host}`
    const url = new URL(request.url ?? '/', origin)
    const body = await jsonBody(request)
    const call = parseArmCall(method, url)
    const entry = log.arrived({
      method,
      url: url.pathname + url.search,
      headers: textHeaders(request),
      body: body ?? null,
      call: call.call,
      ...this.#subject(call, body),
    })
    await this.#runHooks('arrival', entry)
    const fault = faults.take(entry)
    if (fault?.kind === 'cut') return lose(entry, response)
    const answered = this.#answer(call, entry, body, request, { fault, origin })
    const given = pageOf(call.call, answered, url, this.#parts.settings.pageSize)
    const full = withCommonHeaders(given, method)
    Object.assign(entry, { status: full.status, answerHeaders: full.headers, answerBody: full.body })
    await this.#runHooks('answer', entry)
    if (fault?.kind === 'answerLost') return lose(entry, response)
    response.writeHead(full.status, full.headers)
    response.end(full.body === undefined ? undefined : JSON.stringify(full.body))
    entry.answer = 'sent'
  }

  #answer(
    call: ArmCall,
    entry: ArmRequest,
    body: unknown,
    request: IncomingMessage,
    { fault, origin }: { fault: ArmFaultEffect | null; origin: string },
  ): ArmAnswer {
    const { settings, state, bodies, writes } = this.#parts
    if (!/^Bearer .+/.test(request.headers.authorization ?? '')) {
      const message = "Authentication failed. The 'Authorization' header is missing."
      return refuse(401, { code: 'AuthenticationFailed', message })
    }
    if (fault?.kind === 'answer') {
      const { retryAfterSeconds, status, error } = fault
      return refuse(
        status,
        error,
        retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) },
      )
    }
    if (call.subscription.toLowerCase() !== settings.subscriptionId.toLowerCase()) {
      const message = `The subscription '${call.subscription}' could not be found.`
      return refuse(404, { code: 'SubscriptionNotFound', message })
    }
    const ifMatch = request.headers['if-match'] ?? null
    const found =
      call.call === 'operation'
        ? this.#operation(call)
        : (answerRead(settings, state(), bodies, call) ??
          writes.answer({ call, body, ifMatch, request: entry.number, origin, fault }))
    if (found !== null) return found
    const message = `The resource type could not be found in the namespace 'Microsoft.Compute' for ${entry.method} ${entry.url}.`
    return refuse(404, { code: 'InvalidResourceType', message })
  }

  #operation(call: ArmCall): ArmAnswer {
    const { settings, state, bodies } = this.#parts
    const operation = state().operations[call.name]
    if (operation === undefined || operation.forgotten) {
      return refuse(404, { code: 'NotFound', message: 'The entity was not found in this Azure location.' })
    }
    const running = operation.endedAt === null
    const disk = operation.change.kind.endsWith('Disk') ? state().disks[operation.on] : undefined
    if (call.query.get('monitor') === 'true') {
      if (running) return answer(202)
      return operation.status === 'Succeeded'
        ? answer(200, disk === undefined ? undefined : bodies.disk(disk))
        : refuse(409, operation.error ?? { code: 'Canceled', message: 'Operation was canceled.' })
    }
    operation.polls += 1
    const first = operation.polls === 1 && running && disk === undefined
    return answer(
      200,
      operationBody(operation, disk === undefined ? null : bodies.disk(disk)),
      first ? { 'retry-after': String(settings.retryAfterSeconds) } : {},
    )
  }

  /** What faults, hooks and readers of the log go by. */
  #subject(call: ArmCall, body: unknown): Pick<ArmRequest, 'vm' | 'size'> {
    const state = this.#parts.state()
    const key =
      call.call === 'operation'
        ? (state.operations[call.name]?.on ?? '')
        : keyOf(call.resourceGroup ?? '', call.name)
    const vmKey = state.vms[key] === undefined ? (state.disks[key]?.vm ?? '') : key
    const vm = state.vms[vmKey]
    const asked = fieldsOf(fieldsOf(fieldsOf(body).properties).hardwareProfile).vmSize
    return { vm: vm?.name ?? null, size: typeof asked === 'string' ? asked : (vm?.size ?? null) }
  }

  async #runHooks(at: 'arrival' | 'answer', entry: ArmRequest): Promise<void> {
    for (const { match, hook, at: when } of [...this.#hooks]) {
      if (when === at && armMatches(match, entry)) await hook(entry)
    }
  }
}

function operationBody(operation: ArmOperation, disk: object | null): object {
  const { id, startedAt, endedAt, status, error } = operation
  const startTime = new Date(startedAt).toISOString()
  if (endedAt === null) return { startTime, status: 'InProgress', name: id }
  return {
    startTime,
    endTime: new Date(endedAt).toISOString(),
    status,
    ...(disk === null || status !== 'Succeeded' ? {} : { properties: { output: disk } }),
    ...(error === null ? {} : { error }),
    name: id,
  }
}

function withCommonHeaders(given: ArmAnswer, method: string): ArmAnswer {
  const kind = method === 'GET' ? 'reads' : method === 'DELETE' ? 'deletes' : 'writes'
  return {
    ...given,
    headers: {
      'x-ms-request-id': randomUUID(),
      [`x-ms-ratelimit-remaining-subscription-global-${kind}`]: kind === 'reads' ? '3749' : '2999',
      ...(given.body === undefined
        ? { 'content-length': '0' }
        : { 'content-type': 'application/json; charset=utf-8' }),
      ...given.headers,
    },
  }
}

function lose(entry: ArmRequest, response: ServerResponse): void {
  entry.answer = 'lost'
  response.socket?.destroy()
}

function textHeaders(request: IncomingMessage): Record<string, string> {
  const { authorization, ...headers } = request.headers
  return Object.fromEntries(
    Object.entries({
      ...headers,
      ...(authorization === undefined ? {} : { authorization: 'Bearer REDACTED' }),
    }).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
  )
}
