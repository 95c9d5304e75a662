import { expect, it } from 'vitest'
import { silentSeconds } from '../../src/core/drain/silence.js'

const SINCE = '2026-01-01T00:00:00Z'
const NOW_MS = Date.parse('2026-01-01T00:05:00Z')

it.each<[string, Parameters<typeof silentSeconds>[0], number]>([
  ['that is silent', { ready: 'unknown', unknownSince: SINCE }, 300],
  ['that is ready', { ready: 'ready', unknownSince: SINCE }, 0],
  ['that says it is not ready', { ready: 'notReady' }, 0],
  ['that is silent, nobody says since when', { ready: 'unknown' }, 0],
  ['that is silent since a time nobody can read', { ready: 'unknown', unknownSince: 'yesterday' }, 0],
  ['that is silent since a moment to come', { ready: 'unknown', unknownSince: '2026-01-01T00:06:00Z' }, 0],
])('B02 the silence of a kubelet %s', (_, node, seconds) => {
  expect(silentSeconds(node, NOW_MS)).toBe(seconds)
})
