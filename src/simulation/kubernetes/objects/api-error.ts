import type { FieldProblem, Resource } from './resource.js'

/** What a failed request is answered with. */
export interface Status {
  readonly kind: 'Status'
  readonly apiVersion: 'v1'
  readonly metadata: object
  readonly status: 'Success' | 'Failure'
  readonly message?: string
  readonly reason?: string
  readonly details?: StatusDetails
  readonly code?: number
}

export interface StatusDetails {
  readonly name?: string
  readonly group?: string
  readonly kind?: string
  readonly uid?: string
  readonly causes?: readonly StatusCause[]
  readonly retryAfterSeconds?: number
}

export interface StatusCause {
  readonly reason: string
  readonly message: string
  readonly field?: string
}

/** Ends a request with a `Status`. */
export class ApiError extends Error {
  readonly code: number
  readonly status: Status

  constructor(code: number, reason: string | null, message: string, details?: StatusDetails) {
    super(message)
    this.name = 'ApiError'
    this.code = code
    this.status = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      ...(reason === null ? {} : { reason }),
      ...(details === undefined ? {} : { details }),
      code,
    }
  }
}

/** The body is JSON, but not of the kind that it should be. */
export class DecodeError extends ApiError {
  constructor(message: string) {
    super(400, 'BadRequest', message)
  }

  /** A patch whose result cannot be read is answered in other words. */
  inPatch(): ApiError {
    const field = 'patch'
    const message = `Invalid value: ${this.message}`
    return new ApiError(422, 'Invalid', ` "" is invalid: patch: ${message}`, {
      causes: [{ reason: 'FieldValueInvalid', message, field }],
    })
  }
}

export function success(details?: StatusDetails, code?: number): Status {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    ...(details === undefined ? {} : { details }),
    ...(code === undefined ? {} : { code }),
  }
}

export function badRequest(message: string): ApiError {
  return new ApiError(400, 'BadRequest', message)
}

export function notFound(resource: Resource, name: string): ApiError {
  return new ApiError(404, 'NotFound', `${qualified(resource)} "${name}" not found`, about(resource, name))
}

export function alreadyExists(resource: Resource, name: string): ApiError {
  const message = `${qualified(resource)} "${name}" already exists`
  return new ApiError(409, 'AlreadyExists', message, about(resource, name))
}

export function conflict(resource: Resource, name: string, why: string): ApiError {
  const message = `Operation cannot be fulfilled on ${qualified(resource)} "${name}": ${why}`
  return new ApiError(409, 'Conflict', message, about(resource, name))
}

export function modified(resource: Resource, name: string): ApiError {
  const why = 'the object has been modified; please apply your changes to the latest version and try again'
  return conflict(resource, name, why)
}

/** A precondition of a deletion does not hold: the server then speaks of the kind, not of the resource. */
export function preconditionFailed({ kind, group }: Resource, name: string, why: string): ApiError {
  const subject = group === '' ? kind : `${kind}.${group}`
  const message = `Operation cannot be fulfilled on ${subject} "${name}": ${why}`
  return new ApiError(409, 'Conflict', message, { name, ...(group === '' ? {} : { group }), kind })
}

export function forbidden(
  resource: Resource,
  name: string,
  why: string,
  causes: readonly StatusCause[] = [],
): ApiError {
  const subject = name === '' ? qualified(resource) : `${qualified(resource)} "${name}"`
  const details = { ...about(resource, name), ...(causes.length === 0 ? {} : { causes }) }
  return new ApiError(403, 'Forbidden', `${subject} is forbidden: ${why}`, details)
}

/** `subject` is the kind, and in some cases the resource. */
export function invalid(
  { kind, group }: Resource,
  name: string,
  problems: readonly FieldProblem[],
  subject = kind,
): ApiError {
  const said = problems.map(({ field, message }) => `${field}: ${message}`)
  const all = said.length === 1 ? said[0] : `[${said.join(', ')}]`
  const whole = group === '' ? subject : `${subject}.${group}`
  return new ApiError(422, 'Invalid', `${whole} "${name}" is invalid: ${all}`, {
    ...(name === '' ? {} : { name }),
    ...(group === '' ? {} : { group }),
    kind: subject,
    causes: problems.map(({ reason, message, field }) => ({ reason, message, field })),
  })
}

export function expired(message: string): ApiError {
  return new ApiError(410, 'Expired', message)
}

export function unauthorized(): ApiError {
  return new ApiError(401, 'Unauthorized', 'Unauthorized')
}

export function noSuchResource(): ApiError {
  return new ApiError(404, 'NotFound', 'the server could not find the requested resource', {})
}

export function methodNotAllowed(): ApiError {
  const message = 'the server does not allow this method on the requested resource'
  return new ApiError(405, 'MethodNotAllowed', message, {})
}

/** `poddisruptionbudgets.policy` */
function qualified({ plural, group }: Resource): string {
  return group === '' ? plural : `${plural}.${group}`
}

function about({ plural, group }: Resource, name: string): StatusDetails {
  return { ...(name === '' ? {} : { name }), ...(group === '' ? {} : { group }), kind: plural }
}
