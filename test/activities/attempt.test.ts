import { getEventListeners } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MockActivityEnvironment } from '@temporalio/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Attempt, attempting } from '../../src/activities/attempt.js'
import { KubernetesApi } from '../../src/providers/kubernetes/api.js'
import { SimulatedMachines } from '../../src/providers/simulated/machines.js'
import { json, type StandIn, standIn, writeKubeconfig } from '../providers/kubernetes/stand-in.js'

/** As many evictions as a spec may ask for at once. */
const AT_ONCE = 200

describe('the signal of an attempt', () => {
  const warnings: Error[] = []
  const heard = (warning: Error) => warnings.push(warning)
  let waiting: ServerResponse[]
  let server: StandIn
  let folder: string

  beforeEach(async () => {
    warnings.length = 0
    process.on('warning', heard)
    waiting = []
    // Answers when all have asked: so all of them listen to the signal in the same moment.
    server = await standIn((_path, outgoing) => {
      waiting.push(outgoing)
      if (waiting.length === AT_ONCE) for (const one of waiting) json(one, {})
    })
    folder = await mkdtemp(join(tmpdir(), 'attempt-'))
  })
  afterEach(async () => {
    process.off('warning', heard)
    await server.stop()
    await rm(folder, { recursive: true })
  })

  /** What still listens to the signal, and what Node warned of, after so many requests at once. */
  async function traceOf(request: (attempt: Attempt) => Promise<unknown>) {
    const environment = new MockActivityEnvironment()
    const step = () =>
      attempting('w-1', async (attempt) => {
        await Promise.all(Array.from({ length: AT_ONCE }, () => request(attempt)))
        return getEventListeners(attempt.signal, 'abort').length
      })
    const listening = (await environment.run(step)) as number
    // A warning is emitted one tick later.
    await new Promise((resolve) => setImmediate(resolve))
    return { listening, warnings: warnings.map(String) }
  }

  it('carries as many requests to the API server as a spec allows, without a warning and without a trace', async () => {
    const api = new KubernetesApi(await writeKubeconfig(folder, { server: server.url }))
    const call = { doing: 'ask', method: 'GET', path: '/version' } as const

    const left = await traceOf(({ signal }) => api.call(call, signal))

    await api.close()
    expect(server.requests).toHaveLength(AT_ONCE)
    expect(left).toEqual({ listening: 0, warnings: [] })
  })

  it('carries as many requests to the cloud, without a warning and without a trace', async () => {
    const machines = new SimulatedMachines({ url: server.url, cluster: 'prod' })

    const left = await traceOf(({ signal }) => machines.get('m-1', signal).catch(() => null))

    expect(server.requests).toHaveLength(AT_ONCE)
    expect(left).toEqual({ listening: 0, warnings: [] })
  })
})
