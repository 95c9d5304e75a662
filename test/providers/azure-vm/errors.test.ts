import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  asPortError,
  kindOfFailure,
  kindOfOutcome,
  secondsOf,
} from '../../../src/providers/azure-vm/errors.js'

interface Recorded {
  readonly title: string
  readonly response: { readonly status: number; readonly body: { error?: { code: string; message: string } } }
}

const RECORDED: Recorded[] = JSON.parse(
  readFileSync(new URL('../../fixtures/azure/errors.json', import.meta.url), 'utf8'),
).items

/** By the titles of the recordings, in their order. */
const KINDS = [
  ...['capacity', 'capacity', 'refused', 'refused'],
  'failed',
  ...['refused', 'refused', 'refused'],
  ...['conflict', 'conflict'],
  ...['notFound', 'notFound', 'notFound'],
  ...['refused', 'refused'],
  'unreachable',
  'failed',
  'refused',
  ...['throttled', 'throttled'],
  'refused',
  'unreachable',
]

describe('what an error of Azure means', () => {
  it.each(RECORDED.map((recorded, at) => ({ ...recorded, kind: KINDS[at] })))(
    '$kind: recorded $title',
    ({ response, kind }) => {
      const { status, body } = response
      const { code = '', message = '' } = body.error ?? {}
      const found = status === 200 ? kindOfOutcome(code, message) : kindOfFailure({ status, code, message })

      expect(found).toBe(kind)
    },
  )

  it('names the call, the status, the code and what Azure says, and hands on Retry-After', () => {
    const error = Object.assign(new Error('too many requests'), {
      ...{ name: 'RestError', statusCode: 429, code: 'OperationNotAllowed' },
      response: { headers: { get: (name: string) => (name === 'retry-after' ? '1200' : undefined) } },
    })

    expect(asPortError('start w-1', error)).toMatchObject({
      ...{ kind: 'throttled', retryAfterSeconds: 1200 },
      message: 'start w-1: 429 OperationNotAllowed: too many requests',
    })
  })

  it('takes a token that cannot be had for Azure out of reach, not for a refusal', () => {
    const error = Object.assign(new Error('no identity endpoint'), {
      name: 'CredentialUnavailableError',
      statusCode: 400,
    })

    expect(asPortError('start w-1', error)).toMatchObject({ kind: 'unreachable' })
  })

  it.each([
    ['10', 10],
    ['0', 0],
    ['', null],
    ['Wed, 21 Oct 2015 07:28:00 GMT', null],
    [undefined, null],
  ])('reads Retry-After %j as %j', (header, seconds) => {
    expect(secondsOf(header)).toBe(seconds)
  })
})
