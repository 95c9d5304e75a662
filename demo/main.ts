import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, Connection } from '@temporalio/client'
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker'
import { EXIT } from '../src/cli/exit-codes.js'
import { followRollout } from '../src/cli/follow-rollout.js'
import { createOutput } from '../src/cli/output.js'
import { exitCodeOf, sayError } from '../src/cli/say-error.js'
import { NoderollClient } from '../src/client/noderoll-client.js'
import { createWorker } from '../src/worker/create-worker.js'
import { startTemporal } from '../test/support/temporal.js'
import { type DemoArguments, demoArguments, USAGE } from './arguments.js'
import { CLUSTER, type DemoWorld, startDemoWorld } from './world.js'

const TASK_QUEUE = 'noderoll'

/** Temporal, a cluster and a worker are started; the cluster is rolled. Gives the exit code of the rollout. */
async function main({ keep, ...size }: DemoArguments): Promise<number> {
  const ends: (() => Promise<unknown>)[] = []
  const startedAt = performance.now()
  const say = (...lines: string[]) => {
    console.log(`${((performance.now() - startedAt) / 1000).toFixed(1).padStart(5)} s  ${lines.join('\n')}`)
  }
  try {
    Runtime.install({
      logger: new DefaultLogger('ERROR'),
      telemetryOptions: { logging: { forward: {} } },
      // An interrupt is for whoever watches; the worker is shut down after it, with everything else.
      shutdownSignals: [],
    })
    const temporal = await startTemporal({ ui: true })
    ends.push(() => temporal.stop())
    const world = await startDemoWorld({ ...size, control: 3, workers: 6 })
    ends.push(() => world.stop())
    say('Temporal and a cluster are up: 3 control nodes, 6 workers, workloads')

    const native = await NativeConnection.connect({ address: temporal.address })
    const connection = await Connection.connect({ address: temporal.address })
    const worker = await createWorker({
      connection: native,
      namespace: 'default',
      taskQueue: TASK_QUEUE,
      address: temporal.address,
      shutdownGraceSeconds: 2,
    })
    const running = worker.run()
    ends.push(async () => {
      worker.shutdown()
      await running
      await connection.close()
      await native.close()
    })
    say('A worker polls; all nodes get another size, the workers a bigger disk')

    const noderoll = new NoderollClient({ client: new Client({ connection }), taskQueue: TASK_QUEUE })
    const rollout = await noderoll.startRollout(world.spec, { by: 'npm run demo' })
    const workflow = encodeURIComponent(`cluster-rollout/${CLUSTER}`)
    const webUi = `${temporal.uiUrl}/namespaces/default/workflows/${workflow}`
    say("The rollout is started, and seen in Temporal's Web UI:", webUi, '')
    const code = await end(() => followRollout(rollout, createOutput('text')))
    console.log()
    say(`The rollout ended with exit code ${code}`)
    if (keep && code !== EXIT.interrupted) await keepRunning(temporal.address, world, webUi)
    return code
  } catch (error) {
    console.error(sayError(error))
    return exitCodeOf(error)
  } finally {
    for (const stop of ends.reverse()) await stop()
  }
}

/** A failed rollout is an end like any other here: it is what `--fail` is to show. */
async function end(follow: () => Promise<number>): Promise<number> {
  try {
    return await follow()
  } catch (error) {
    console.error(sayError(error))
    return exitCodeOf(error)
  }
}

/** Prints lines to try with the stock CLI, and waits for Ctrl-C. */
async function keepRunning(address: string, world: DemoWorld, webUi: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'noderoll-demo-'))
  const spec = join(folder, 'rollout.json')
  await writeFile(spec, `${JSON.stringify(world.spec, null, 2)}\n`)
  const id = `cluster-rollout/${CLUSTER}`
  console.log(`
Everything keeps running until Ctrl-C. In another terminal:

  export TEMPORAL_ADDRESS=${address}
  export KUBECONFIG=${world.kubeconfigFile}
  export SPEC=${spec}

  kubectl get nodes
  npm run noderoll -- status --file $SPEC
  npm run noderoll -- plan --file $SPEC               # after a change in it
  npm run noderoll -- start --file $SPEC --watch

The same with the stock Temporal command:

  temporal workflow start --task-queue ${TASK_QUEUE} --type clusterRollout \\
    --fail-existing --workflow-id ${id} --input-file $SPEC
  temporal workflow query --workflow-id ${id} --name progress
  temporal workflow signal --workflow-id ${id} --name pause
  temporal workflow signal --workflow-id ${id} --name resume
  temporal workflow signal --workflow-id ${id} --name cancel

${webUi}`)
  await new Promise<void>((resolve) => {
    // A pending promise alone does not keep a process alive.
    const alive = setInterval(() => undefined, 60_000)
    const stop = () => {
      clearInterval(alive)
      process.off('SIGINT', stop)
      resolve()
    }
    // Not `once`: what draws on terminals ends the process when it finds its own listener alone.
    process.on('SIGINT', stop)
  })
  await rm(folder, { recursive: true, force: true })
}

async function run(args: readonly string[]): Promise<number> {
  let checked: DemoArguments
  try {
    checked = demoArguments(args)
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${USAGE}`)
    return EXIT.usage
  }
  if (!checked.help) return main(checked)
  console.log(USAGE)
  return EXIT.done
}

process.exitCode = await run(process.argv.slice(2))
