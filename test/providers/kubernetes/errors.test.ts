import { describe, expect, it } from 'vitest'
import type { Answer } from '../../../src/providers/kubernetes/call.js'
import { answerError, failureOf, noAnswerError } from '../../../src/providers/kubernetes/errors.js'
import { portError } from './bed.js'

function answer(code: number, body: unknown, retryAfterSeconds: number | null = null): Answer {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return { code, text, server: 'https://a:6443', dateMs: null, retryAfterSeconds }
}

const status = (message: string, rest: object = {}) => ({ kind: 'Status', message, ...rest })

describe('an answer is told', () => {
  it.each([
    [
      401,
      status('Unauthorized'),
      'refused',
      /^Could not list: https:\/\/a:6443 does not accept .* \(401\)\.$/,
    ],
    [403, status('nodes is forbidden'), 'refused', /^Could not list: nodes is forbidden \(403\)\.$/],
    [404, status('nodes "w" not found'), 'notFound', /nodes "w" not found \(404\)/],
    [404, 'default backend - 404', 'unreachable', /answered 404, and not as an API server does/],
    [404, { kind: 'Other' }, 'unreachable', /answered 404/],
    [409, status('the object has been modified'), 'conflict', /modified \(409\)/],
    [410, status('too old resource version'), 'conflict', /too old/],
    [400, status('the body is not an object'), 'refused', /\(400\)/],
    [415, status('unsupported media type'), 'refused', /\(415\)/],
    [422, status('Invalid value'), 'refused', /\(422\)/],
    [302, '<html>please log in</html>', 'refused', /answered 302/],
    [408, '', 'unreachable', /408/],
    [500, status('etcdserver: request timed out'), 'unreachable', /etcdserver: request timed out \(500\)/],
    [503, 'no backend', 'unreachable', /answered 503/],
  ] as const)('%i %o is %s', (code, body, kind, message) => {
    expect(answerError(answer(code, body), 'list')).toEqual(portError(kind, message))
  })

  it.each([
    ['by header', answer(429, status('slow down'), 7)],
    ['by the body', answer(429, status('slow down', { details: { retryAfterSeconds: 7 } }))],
  ])('with the time to wait, %s', (_, given) => {
    expect(answerError(given, 'list')).toMatchObject({ kind: 'throttled', retryAfterSeconds: 7 })
  })

  it('in one line, however long its own text is', () => {
    const { message } = answerError(answer(422, status(`a\nb ${'x'.repeat(5_000)}`)), 'write')

    expect(message).toMatch(/^Could not write: a b x+… \(422\)\.$/)
    expect(message.length).toBeLessThan(400)
  })

  it('without what a proxy wrote around it', () => {
    const { message } = answerError(answer(502, '<html>token=secret</html>'), 'list')

    expect(message).toBe('Could not list: https://a:6443 answered 502, and not as an API server does.')
  })
})

describe('a failure without an answer', () => {
  const connect = (code: string) => Object.assign(new Error(code), { code, syscall: 'connect' })
  const coded = (code: string) => Object.assign(new Error(code), { code })

  it.each([
    ['refused', connect('ECONNREFUSED'), 'connection refused', true],
    [
      'refused on each address of a name',
      new AggregateError([connect('ECONNREFUSED')]),
      'connection refused',
      true,
    ],
    ['no route', connect('EHOSTUNREACH'), 'no route to host', true],
    ['not connected in time', coded('UND_ERR_CONNECT_TIMEOUT'), 'no connection in time', true],
    ['reset', coded('ECONNRESET'), 'connection reset', false],
    ['closed', coded('UND_ERR_SOCKET'), 'connection closed', false],
    ['something else', new Error('odd\nthing'), 'odd thing', false],
    ['no error at all', undefined, 'the connection failed', false],
  ])('%s: sent or certainly not', (_, error, why, unsent) => {
    expect(failureOf(error)).toEqual({ why, unsent, lasting: false })
  })

  it('by a certificate is for a person to mend, unless another server only hangs', () => {
    const untrusted = { ...failureOf(coded('ERR_TLS_CERT_ALTNAME_INVALID')), server: 'https://a' }
    const refused = { ...failureOf(connect('ECONNREFUSED')), server: 'https://b' }

    expect(noAnswerError([untrusted], 'list')).toEqual(portError('refused', /certificate is not trusted/))
    expect(noAnswerError([untrusted, refused], 'list')).toEqual(portError('unreachable', /https:\/\/b: conn/))
  })
})
