import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { SimulatedCluster } from '../src/simulation/cluster.js'
import { BenchBed } from './bed.js'
import { figure } from './figure.js'
import { physicalSeconds } from './physical.js'

const WORKERS = 20
const PODS_PER_NODE = 10
const GRACE_SECONDS = 1
const DELAYS = { stopMs: 1_000, changeMs: 0, startMs: 1_000, bootMs: 3_000 }
const NO_DELAYS = { stopMs: 0, changeMs: 0, startMs: 0, bootMs: 0 }

const bed = await BenchBed.open()
const cluster = await bed.startCluster({ workers: WORKERS, delays: DELAYS })
await bed.deploy(WORKERS * PODS_PER_NODE, GRACE_SECONDS)

const slow = await bed.roll(
  await bed.spec(cluster, { pools: { worker: { offering: 'medium' } } }),
  'overhead',
)
expectDone(slow.result.done.count)
figure('overhead', 'wall', slow.seconds, 's')
const physical = physicalOf(cluster)
figure('overhead', 'physical', physical, 's')
figure('overhead', 'wall_over_physical', slow.seconds / physical, 'ratio')

cluster.cloud.log.clear()
const loopSeconds = await kubectlLoop(cluster)
figure('overhead', 'kubectl_loop', loopSeconds, 's')
figure('overhead', 'kubectl_loop_over_physical', loopSeconds / physicalOf(cluster), 'ratio')

Object.assign(cluster.cloud.state.delays, NO_DELAYS)
await bed.kube.api.ok('DELETE', '/apis/apps/v1/namespaces/default/deployments/bench')
const fast = await bed.roll(await bed.spec(cluster, { pools: { worker: { offering: 'large' } } }), 'engine')
expectDone(fast.result.done.count)
figure('overhead', 'engine_seconds_per_node', fast.seconds / WORKERS, 's')
await cluster.close()
await bed.close()

// What of that is waiting for a turn at Temporal.
const quick = await BenchBed.open('real', 1_000)
const others = await quick.startCluster({ workers: WORKERS, delays: NO_DELAYS })
const unthrottled = await quick.roll(
  await quick.spec(others, { pools: { worker: { offering: 'large' } } }),
  'engine',
)
expectDone(unthrottled.result.done.count)
figure('overhead', 'engine_seconds_per_node_queue_reads_1000', unthrottled.seconds / WORKERS, 's')
await others.close()
await quick.close()

function physicalOf({ cloud }: SimulatedCluster): number {
  return physicalSeconds(cloud.log.acts(), cloud.state.delays, GRACE_SECONDS)
}

function expectDone(count: number): void {
  if (count !== WORKERS) throw new Error(`${count} of ${WORKERS} nodes were rolled`)
}

/** The same work by a shell loop: cordon, drain, stop, start, wait for Ready, uncordon. Gives its wall time in seconds. */
async function kubectlLoop({ cloud, machines }: SimulatedCluster): Promise<number> {
  const kubeconfig = await bed.kube.kubeconfigFile()
  const script = machines
    .map(
      ({ id, name }) => `
kubectl drain ${name} --ignore-daemonsets --delete-emptydir-data
curl -sf -X POST ${cloud.url}/machines/${id}/stop
until curl -sf ${cloud.url}/machines/${id} | grep -q '"power":"stopped"'; do sleep 0.5; done
curl -sf -X POST ${cloud.url}/machines/${id}/start
until curl -sf ${cloud.url}/machines/${id} | grep -q '"power":"running"'; do sleep 0.5; done
kubectl wait --for=condition=Ready node/${name} --timeout=5m
kubectl uncordon ${name}`,
    )
    .join('\n')
  const startedAt = performance.now()
  const folder = bed.kube.access.kubectl.replace(/\/kubectl$/, '')
  const shell = spawn('bash', ['-ec', script], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, KUBECONFIG: kubeconfig, PATH: `${folder}:${process.env.PATH}` },
  })
  let said = ''
  shell.stderr.on('data', (chunk) => {
    said += chunk
  })
  const [code] = await once(shell, 'close')
  if (code !== 0) throw new Error(`the kubectl loop failed: ${said.slice(-500)}`)
  return (performance.now() - startedAt) / 1000
}
