import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { SimulatedCluster } from '../src/simulation/cluster.js'
import { grantNoderoll } from '../test/providers/kubernetes/bed.js'
import { waitUntil } from '../test/support/wait.js'
import { BenchBed } from './bed.js'
import { figure } from './figure.js'

// kubectl drain and the drain step of a real rollout, in turn, on the same control plane: the same pods on one node, each
// with a real controller, one second of grace and a kubelet that takes all of it. The wall of noderoll's drain is that of
// the step in the workflow's history, from when it was asked for until it was done, so that Temporal's share is in it.
const PODS = 136
const GRACE_SECONDS = 1
const NODE = 'w-1'
const DEPLOYMENT = '/apis/apps/v1/namespaces/default/deployments/bench'

const bed = await BenchBed.open({ users: ['noderoll'] })
await grantNoderoll(bed.kube)
const cluster = await bed.startCluster({ workers: 2, kubelets: { podCapacity: 300 } })
const kubeconfig = await bed.kube.kubeconfigFile('noderoll')

await fill()
const kubectlSeconds = await kubectlDrain(cluster)
figure('drain', 'kubectl_seconds', kubectlSeconds, 's')
await bed.kube.api.ok('PATCH', `/api/v1/nodes/${NODE}`, { spec: { unschedulable: false } })
await bed.kube.api.ok('DELETE', DEPLOYMENT)

await fill()
const ours = await noderollDrain(cluster)
figure('drain', 'noderoll_seconds', ours.seconds, 's')
figure('drain', 'speedup', kubectlSeconds / ours.seconds, 'ratio')
figure('drain', 'requests_per_pod', ours.requests / PODS, 'requests')

await cluster.close()
await bed.close()
