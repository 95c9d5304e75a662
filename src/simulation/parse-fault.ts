import type { Fault, FaultEffect } from './faults.js'
import { CALL_NAMES, type CallName } from './request-log.js'

const PLAIN_KINDS = [
  'capacity',
  'operationNeverEnds',
  'operationForgotten',
  'noEffect',
  'blackHole',
  'answerLost',
] as const

type Fields = Readonly<Record<string, unknown>>

/** A fault as sent over HTTP, or what is wrong with it. Without `count` it hits one request. */
export function parseFault(body: unknown): Fault | string {
  if (!isFields(body)) return 'a fault is an object'
  const { call, machine, offering, count = 1, effect: asked } = body
  const effect = parseEffect(asked)
  if (typeof effect === 'string') return effect
  if (call !== undefined && !isCallName(call)) return `call must be one of ${CALL_NAMES.join(', ')}`
  if (machine !== undefined && typeof machine !== 'string') return 'machine must be text'
  if (offering !== undefined && typeof offering !== 'string') return 'offering must be text'
  if (count !== null && !isAtLeast(count, 1)) return 'count must be a number of requests, or null for all'
  return {
    ...(call === undefined ? {} : { call }),
    ...(machine === undefined ? {} : { machine }),
    ...(offering === undefined ? {} : { offering }),
    count,
    effect,
  }
}

function parseEffect(effect: unknown): FaultEffect | string {
  if (!isFields(effect)) return 'effect must be an object'
  const { kind, status, code, message, retryAfterSeconds, ms } = effect
  const plain = PLAIN_KINDS.find((one) => one === kind)
  if (plain !== undefined) return { kind: plain }
  if (kind === 'delay') return isAtLeast(ms, 0) ? { kind, ms } : 'delay needs ms'
  if (kind === 'operationFails') {
    return typeof message === 'string' ? { kind, message } : 'operationFails needs a message'
  }
  if (kind !== 'status')
    return `effect.kind must be one of status, delay, operationFails, ${PLAIN_KINDS.join(', ')}`
  if (!isAtLeast(status, 400) || status > 599) return 'status must be from 400 to 599'
  return {
    kind,
    status,
    ...(typeof code === 'string' ? { code } : {}),
    ...(typeof message === 'string' ? { message } : {}),
    ...(isAtLeast(retryAfterSeconds, 0) ? { retryAfterSeconds } : {}),
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isCallName(value: unknown): value is CallName {
  return CALL_NAMES.some((name) => name === value)
}

function isAtLeast(value: unknown, least: number): value is number {
  return typeof value === 'number' && value >= least
}
