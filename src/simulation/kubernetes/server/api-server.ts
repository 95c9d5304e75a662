import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { PODS } from '../kinds/pod.js'
import { ApiError, methodNotAllowed, noSuchResource, notFound, type Status } from '../objects/api-error.js'
import type { ApiObject } from '../objects/api-object.js'
import type { Registry } from '../objects/registry.js'
import type { Resource } from '../objects/resource.js'
import { type ApiRequest, type ResourceRequest, readRequest } from './api-request.js'
import { type AuditLog, type AuditRecord, WRITING_VERBS } from './audit-log.js'
import { authorize } from './authorize.js'
import { discover } from './discovery.js'
import type { Gate } from './gate.js'
import { healthAt } from './health.js'
import { listPage, parseVersion } from './list.js'
import { type Form, formOf, inForm, listInForm } from './representation.js'
import { KUBELETS, type User, type Users } from './users.js'
import { startWatch } from './watch.js'
import {
  type Body,
  handleCreate,
  handleDelete,
  handleDeleteCollection,
  handlePatch,
  handleUpdate,
  inNamespace,
} from './write-requests.js'

export interface ApiServerParts {
  readonly registry: Registry
  readonly users: Users
  readonly audit: AuditLog
  /** Shut, every request waits. */
  readonly gate: Gate
  /** Shut, every request waits that is about objects. */
  readonly storage: Gate
}

interface Exchange {
  readonly incoming: IncomingMessage
  readonly response: ServerResponse
  readonly time: number
  /** Aborts when the server dies. */
  readonly life: AbortSignal
  user: User | null
  request: ApiRequest | null
  body: Body
}

const NO_BODY: Body = { contentType: '', text: '' }

/** Answers HTTP requests out of a registry, and keeps account of them. */
export class ApiServer {
  readonly #parts: ApiServerParts
  #life = new AbortController()

  constructor(parts: ApiServerParts) {
    this.#parts = parts
  }

  /** What has no answer yet never gets one, and does nothing any more. */
  die(): void {
    this.#life.abort(new Error('the API server has died'))
    this.#life = new AbortController()
  }

  async handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const exchange: Exchange = {
      ...{ incoming, response, time: Date.now() },
      ...{ user: null, request: null, body: NO_BODY, life: this.#life.signal },
    }
    response.setHeader('audit-id', randomUUID())
    try {
      const text = await bodyOf(incoming)
      exchange.body = { contentType: incoming.headers['content-type'] ?? '', text }
      await this.#parts.gate.passed()
      exchange.life.throwIfAborted()
      await this.#answer(exchange)
    } catch (error) {
      const failure =
        error instanceof ApiError
          ? error
          : new ApiError(500, 'InternalError', `Internal error: ${String(error)}`)
      if (response.headersSent || exchange.life.aborted) response.destroy()
      else sendStatus(response, failure)
    }
    // At once, so that whoever has an answer finds it in the log; a watch when it has ended.
    if (response.writableEnded) this.#record(exchange)
    else response.on('close', () => this.#record(exchange))
  }

  async #answer(exchange: Exchange): Promise<void> {
    const { incoming } = exchange
    const { users, registry } = this.#parts
    const user = users.authenticate(incoming.headers.authorization)
    exchange.user = user
    const request = readRequest(incoming.method ?? 'GET', incoming.url ?? '/')
    exchange.request = request
    authorize(registry.store, user, request)
    if (request.kind === 'path') this.#answerPath(exchange, request.path, request.query)
    else await this.#answerResource(exchange, request)
  }

  #answerPath({ incoming, response }: Exchange, path: string, query: URLSearchParams): void {
    const health = healthAt(path, query.has('verbose'), this.#parts.storage.isOpen)
    const found = health === null ? discover(path, incoming.headers.host ?? '') : null
    if (found !== null) {
      sendJson(response, 200, found)
      return
    }
    response.writeHead(health?.code ?? 404, { 'content-type': 'text/plain; charset=utf-8' })
    response.end(health?.text ?? '404 page not found\n')
  }

  async #answerResource(exchange: Exchange, request: ResourceRequest): Promise<void> {
    const { incoming, response, body, life } = exchange
    const { registry, gate, storage } = this.#parts
    const { resource, verb } = request
    checkTarget(request)
    await storage.passed()
    life.throwIfAborted()
    const form = formOf(incoming.headers.accept)
    switch (verb) {
      case 'get':
        return sendJson(response, 200, inForm(form, resource, this.#one(request)))
      case 'list':
        return sendJson(response, 200, listPage(registry.store, request, form))
      case 'watch':
        return startWatch({ store: registry.store, gate, request, form, response })
      case 'create':
        return send(response, form, resource, await handleCreate(registry, request, body, life))
      case 'update':
        return send(response, form, resource, handleUpdate(registry, request, body))
      case 'patch':
        return send(response, form, resource, handlePatch(registry, request, body))
      case 'delete':
        return send(response, form, resource, handleDelete(registry, request, body))
      case 'deletecollection': {
        const gone = handleDeleteCollection(registry, request, body)
        const resourceVersion = String(registry.store.version)
        return sendJson(response, 200, listInForm(form, resource, gone, { resourceVersion }))
      }
    }
  }

  #one(request: ResourceRequest): ApiObject {
    const { store } = this.#parts.registry
    parseVersion(store, request.query.get('resourceVersion') || '0')
    const found = store.find(request.resource, inNamespace(request), request.name)
    if (found === undefined) throw notFound(request.resource, request.name)
    return found
  }

  #record({ incoming, response, time, user, request, body }: Exchange): void {
    // Who hung up before there was an answer has asked for nothing yet.
    if (!response.headersSent) return
    const target = request?.kind === 'resource' ? request : null
    const verb = request?.verb ?? (incoming.method ?? '').toLowerCase()
    const keepsBody = WRITING_VERBS.includes(verb) && !(user?.groups.includes(KUBELETS) ?? false)
    const sent = parsed(body.text)
    const record: AuditRecord = {
      time,
      user: user?.name ?? '',
      userAgent: incoming.headers['user-agent'] ?? '',
      verb,
      resource: target?.resource.plural ?? '',
      subresource: target?.subresource ?? '',
      namespace: target?.namespace ?? '',
      name: target?.name || nameIn(verb, sent),
      code: response.statusCode,
      ...(keepsBody && sent !== undefined ? { requestBody: sent } : {}),
      uri: incoming.url ?? '',
    }
    this.#parts.audit.add(record)
  }
}

const SUBRESOURCES: Readonly<Record<string, readonly string[]>> = {
  status: ['get', 'update', 'patch'],
  binding: ['create'],
  eviction: ['create'],
}

/** Throws `ApiError` for a verb that is not for that path, and for what is below no object. */
function checkTarget({ resource, subresource, verb, name, namespace }: ResourceRequest): void {
  if (subresource !== '') {
    const exists =
      subresource === 'status'
        ? resource.hasStatus
        : resource.plural === PODS.plural && subresource in SUBRESOURCES
    if (!exists) throw noSuchResource()
    if (!SUBRESOURCES[subresource]?.includes(verb)) throw methodNotAllowed()
    return
  }
  const isOne = ['get', 'update', 'patch', 'delete'].includes(verb)
  const isNowhere = resource.namespaced && namespace === '' && (isOne || verb === 'create')
  if (!resource.verbs.includes(verb) || isNowhere || (isOne && name === '')) throw methodNotAllowed()
}

function send(
  response: ServerResponse,
  form: Form,
  resource: Resource,
  { code, object }: { readonly code: number; readonly object: ApiObject | Status },
): void {
  sendJson(response, code, isStatus(object) ? object : inForm(form, resource, object))
}

function isStatus(object: ApiObject | Status): object is Status {
  return object.kind === 'Status'
}

function sendStatus(response: ServerResponse, { code, status }: ApiError): void {
  const seconds = status.details?.retryAfterSeconds
  if (seconds !== undefined) response.setHeader('retry-after', String(seconds))
  sendJson(response, code, status)
}

function sendJson(response: ServerResponse, code: number, body: object): void {
  const text = `${JSON.stringify(body)}\n`
  response.writeHead(code, {
    'content-type': 'application/json',
    'cache-control': 'no-cache, private',
    'content-length': Buffer.byteLength(text),
  })
  response.end(text)
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function nameIn(verb: string, sent: unknown): string {
  if (verb !== 'create') return ''
  return (sent as { metadata?: { name?: string } } | undefined)?.metadata?.name ?? ''
}
