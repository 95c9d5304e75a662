import { randomUUID } from 'node:crypto'
import { Client, Connection } from '@temporalio/client'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { NoderollClient, NoderollError } from '../../src/client/index.js'
import { unreachable } from '../../src/client/service-error.js'
import { temporalError } from '../../src/client/temporal-error.js'
import { realTemporal } from '../support/parts.js'
import { StubWorker, stubSpec } from './stub-worker.js'
import { TemporalProxy } from './temporal-proxy.js'

describe('what Temporal answers when it does not do as it is asked', () => {
  it.each(
    Object.entries({
      1: 'unreachable',
      2: 'unreachable',
      3: 'serverError',
      4: 'unreachable',
      5: 'notFound',
      6: 'serverError',
      7: 'denied',
      8: 'unreachable',
      9: 'serverError',
      10: 'unreachable',
      11: 'serverError',
      12: 'serverError',
      13: 'unreachable',
      14: 'unreachable',
      15: 'unreachable',
      16: 'denied',
    }),
  )('of status %s: %s', (code, kind) => {
    const error = Object.assign(new Error('as gRPC has it'), {
      code: Number(code),
      details: 'because',
      metadata: {},
    })

    const said = temporalError(new Error('as the SDK has it', { cause: error }), {
      what: 'it',
      workflowId: 'id',
    })

    expect(said).toBeInstanceOf(NoderollError)
    expect(said.kind).toBe(kind)
    expect(unreachable(error)?.kind ?? null).toBe(kind === 'unreachable' || kind === 'denied' ? kind : null)
  })

  describe('through a proxy that says so', () => {
    let proxy: TemporalProxy
    let connection: Connection
    let noderoll: NoderollClient
    let worker: StubWorker
    let taskQueue: string

    beforeAll(async () => {
      const temporal = await realTemporal()
      proxy = await TemporalProxy.start(temporal.address)
      connection = await Connection.connect({ address: proxy.address })
      taskQueue = randomUUID()
      worker = await StubWorker.start({ ...temporal, taskQueue })
      noderoll = new NoderollClient({
        client: new Client({ connection, namespace: temporal.namespace }),
        taskQueue,
      })
    })
    beforeEach(() => proxy.pass())
    afterAll(async () => {
      await connection?.close()
      await worker?.stop()
      await proxy?.stop()
    })

    it.each(['result', 'progress', 'plan', 'pause', 'resume', 'cancel'] as const)(
      '%s of a rollout throws in our words',
      async (method) => {
        const rollout = await noderoll.startRollout(stubSpec(`c-${randomUUID().slice(0, 8)}`))
        proxy.answer(/./, { code: 9, message: 'not now' })

        const error = await rollout[method]().then(
          () => null,
          (one: unknown) => one,
        )

        expect(error).toBeInstanceOf(NoderollError)
        expect(error).toMatchObject({ kind: 'serverError', message: expect.stringContaining('not now') })
      },
    )

    it('so does whatever else is asked', async () => {
      const spec = stubSpec(`c-${randomUUID().slice(0, 8)}`)
      proxy.answer(/./, { code: 12, message: 'never heard of it' })

      const asked = await Promise.allSettled([
        noderoll.startRollout(spec),
        noderoll.planRollout(spec),
        noderoll.clusterStatus(spec),
        noderoll.releaseCluster(spec),
        noderoll.hasWorker(),
        noderoll.rollout('prod').setMaxUnavailable({ maxUnavailable: 2 }),
      ])

      for (const answer of asked) {
        expect(answer).toMatchObject({ status: 'rejected', reason: { kind: 'serverError' } })
      }
    })
  })
})
