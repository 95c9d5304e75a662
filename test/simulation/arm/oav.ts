import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ArmRequest } from '../../../src/simulation/arm/arm-log.js'
import { installOav } from './tools.js'

const VALIDATED_VERSION = '2024-07-01'

/**
 * Calls that the OpenAPI files at hand do not describe: theirs are in other files of Azure's. Disks and the list of sizes
 * (`skus`) are held to recorded bodies (`recorded.test.ts`), all of them to the Python client, which parses them strictly.
 */
const UNDESCRIBED = new Set<string>([
  ...['operation', 'other', 'skus', 'listDisks', 'getDisk', 'updateDisk', 'createDisk', 'deleteDisk'],
  ...['getPlacementGroup', 'getAvailabilitySet', 'availabilitySetSizes', 'getHostGroup'],
])

interface Verdict {
  readonly errors: readonly { readonly code?: string }[]
  readonly runtimeException?: object
}

export interface Validator {
  initialize(): Promise<void>
  validateLiveRequestResponse(pair: object): Promise<{
    readonly requestValidationResult: Verdict
    readonly responseValidationResult: Verdict
  }>
}

export interface Exchange {
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly body: unknown
  readonly status: number
  readonly answerBody: unknown
}

export async function validatorIn(folder: string): Promise<Validator> {
  const { LiveValidator } = createRequire(join(folder, 'package.json'))('oav') as {
    LiveValidator: new (options: object) => Validator
  }
  const validator = new LiveValidator({
    directory: fileURLToPath(new URL('../../fixtures/azure/openapi', import.meta.url)),
    swaggerPathsPattern: ['specification/**/*.json'],
    git: { shouldClone: false },
    isPathCaseSensitive: false,
  })
  await validator.initialize()
  return validator
}

/** What the description of the service does not allow, each with the request it is about. */
export async function faultsOf(validator: Validator, exchange: Exchange): Promise<object[]> {
  const { method, body, status, answerBody } = exchange
  const url = new URL(exchange.url, 'https://management.azure.com')
  url.searchParams.set('api-version', VALIDATED_VERSION)
  const result = await validator.validateLiveRequestResponse({
    liveRequest: {
      ...{ method, url: url.href, headers: { 'content-type': 'application/json' } },
      ...(body === null || body === undefined ? {} : { body }),
      query: Object.fromEntries(url.searchParams),
    },
    liveResponse: {
      statusCode: String(status),
      headers: { 'content-type': 'application/json' },
      ...(answerBody === undefined || answerBody === null ? {} : { body: answerBody }),
    },
  })
  const request = `${status} ${method} ${exchange.url.slice(0, 160)}`
  return [result.requestValidationResult, result.responseValidationResult].flatMap((one) =>
    // Azure hands back the letter case that somebody once wrote; a size is no less one for that.
    [
      ...one.errors.filter(({ code }) => code !== 'ENUM_CASE_MISMATCH'),
      ...(one.runtimeException === undefined ? [] : [one.runtimeException]),
    ].map((fault) => ({
      request,
      fault,
    })),
  )
}

export function isDescribed({ call, answer }: ArmRequest): boolean {
  return !UNDESCRIBED.has(call) && answer === 'sent'
}

export function exchangeOf({ method, url, body, status, answerBody }: ArmRequest): Exchange {
  return {
    method,
    url,
    body,
    status: status ?? 0,
    answerBody: JSON.parse(JSON.stringify(answerBody ?? null)),
  }
}

/** Of all this traffic what is not allowed, looking once at exchanges that differ in values only. */
export async function trafficFaults(requests: readonly ArmRequest[]): Promise<object[]> {
  const shapes = new Map<string, ArmRequest>()
  for (const request of requests.filter(isDescribed)) {
    const { method, call, status, body, answerBody } = request
    shapes.set(JSON.stringify([method, call, status, shapeOf(body), shapeOf(answerBody)]), request)
  }
  // A test that says so is skipped where it cannot be had.
  const folder = shapes.size === 0 ? null : await installOav()
  if (typeof folder !== 'string') return []
  const validator = await validatorIn(folder)
  const faults = await Promise.all(
    [...shapes.values()].map((request) => faultsOf(validator, exchangeOf(request))),
  )
  return faults.flat()
}

function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return [...new Set(value.map((one) => JSON.stringify(shapeOf(one))))]
  if (typeof value !== 'object' || value === null) return typeof value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shapeOf(one)]))
}
