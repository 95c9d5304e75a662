import { join } from 'node:path'
import { Client, Connection } from '@temporalio/client'
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker'
import { followRollout } from '../src/cli/follow-rollout.js'
import { createOutput } from '../src/cli/output.js'
import { exitCodeOf, sayError } from '../src/cli/say-error.js'
import { NoderollClient } from '../src/client/noderoll-client.js'
import { createWorker } from '../src/worker/create-worker.js'
import { startTemporal } from '../test/support/temporal.js'
import { CLUSTER, startDemoWorld, writeSpec } from './world.js'

const TASK_QUEUE = 'noderoll'

/** Temporal, a cluster and a worker are started; the cluster is rolled. Gives the exit code of the rollout. */
async function main(): Promise<number> {
  const ends: (() => Promise<unknown>)[] = []
  const startedAt = performance.now()
  const say = (text: string) =>
    console.log(`${((performance.now() - startedAt) / 1000).toFixed(1).padStart(5)} s  ${text}`)
  try {
    Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { forward: {} } } })
    const [temporal, world] = await Promise.all([
      startTemporal({ ui: true }),
      startDemoWorld({ control: 3, workers: 4 }),
    ])
    ends.push(
      () => temporal.stop(),
      () => world.stop(),
    )
    say(
      `Temporal at ${temporal.address}; 3 control nodes and 4 workers with workloads and disruption budgets are ready`,
    )

    const native = await NativeConnection.connect({ address: temporal.address })
    const worker = await createWorker({
      connection: native,
      namespace: 'default',
      taskQueue: TASK_QUEUE,
      shutdownGraceSeconds: 2,
    })
    const running = worker.run()
    const connection = await Connection.connect({ address: temporal.address })
    ends.push(async () => {
      worker.shutdown()
      await running
      await connection.close()
      await native.close()
    })
    const specFile = join(process.env.DEMO_FOLDER ?? '.', 'rollout.json')
    if (process.env.DEMO_FOLDER !== undefined) await writeSpec(world.spec, specFile)
    say('A worker polls; the rollout begins: control nodes to medium, workers to large with 80 GiB')

    const noderoll = new NoderollClient({ client: new Client({ connection }), taskQueue: TASK_QUEUE })
    const rollout = await noderoll.startRollout(world.spec, { by: 'npm run demo' })
    const webUi = `${temporal.uiUrl}/namespaces/default/workflows/${encodeURIComponent(`cluster-rollout/${CLUSTER}`)}`
    say(`Temporal's Web UI: ${webUi}`)
    const code = await followRollout(rollout, createOutput('text'))
    say(`ended with exit code ${code}; it was seen at ${webUi}`)
    return code
  } catch (error) {
    console.error(sayError(error))
    return exitCodeOf(error)
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

process.exitCode = await main()
