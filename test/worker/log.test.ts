import { ApplicationFailure } from '@temporalio/common'
import { describe, expect, it } from 'vitest'
import { sayJson, sayPlainly } from '../../src/worker/log.js'

const TIME = 1_764_500_000_000_000_000n

describe('log lines', () => {
  const entry = (meta?: Record<string, unknown>) => ({
    level: 'INFO' as const,
    message: 'Evicting pod',
    timestampNanos: TIME,
    ...(meta === undefined ? {} : { meta }),
  })

  it('are one JSON object, with the fields as they are', () => {
    expect(JSON.parse(sayJson(entry({ node: 'w-1', attempt: 2, id: 7n, missing: undefined })))).toEqual({
      time: '2025-11-30T10:53:20.000Z',
      level: 'INFO',
      message: 'Evicting pod',
      node: 'w-1',
      attempt: 2,
      id: '7',
    })
  })

  it('are plain words for a person', () => {
    expect(sayPlainly(entry({ node: 'w-1', pods: ['a'] }))).toBe(
      '2025-11-30T10:53:20.000Z INFO  Evicting pod node=w-1 pods=["a"]',
    )
    expect(sayPlainly(entry())).toBe('2025-11-30T10:53:20.000Z INFO  Evicting pod')
  })

  it('say a refusal in its sentence, and show the stack only of what nobody expected', () => {
    const refusal = ApplicationFailure.nonRetryable('blocked by shop/web', 'DrainBlocked')

    expect(JSON.parse(sayJson(entry({ error: refusal }))).error).toBe('DrainBlocked: blocked by shop/web')
    expect(JSON.parse(sayJson(entry({ error: new TypeError('bug') }))).error).toMatch(
      /^TypeError: bug\n +at /,
    )
  })

  it("leave out what only the SDK's developers understand", () => {
    expect(sayPlainly(entry({ target: 'temporalio_sdk_core', spanContexts: [] }))).not.toContain('target')
  })
})
