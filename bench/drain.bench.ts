import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { KubeObject } from '../test/support/kube-api.js'
import { waitUntil } from '../test/support/wait.js'
import { BenchBed } from './bed.js'
import { figure } from './figure.js'

// kubectl drain and noderoll's, in turn, on the same control plane: the same pods on one node, each with a real controller
// and one second of grace, which its kubelet takes. noderoll's wall is that of the drain step in the history of a real
// rollout, from when the workflow asked for it until it was done: Temporal's share is in it. Requests are those that the
// API server has in its audit log.
const PODS = 136
const GRACE_SECONDS = 1
const NODE = 'w-1'
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'

interface Drain {
  readonly seconds: number
  readonly requests: number
}

const bed = await BenchBed.open()
const cluster = await bed.startCluster({ workers: 2, kubelets: { podsPerNode: 300 } })
cluster.cloud.machine('w-2').offering = 'medium'

await fillNode()
const kubectl = await kubectlDrain()
await bed.kube.api.ok('PATCH', `/api/v1/nodes/${NODE}`, { spec: { unschedulable: null } })
await bed.kube.api.ok('DELETE', `${DEPLOYMENTS}/bench`)
await waitUntil(async () => (await pods()).length === 0, { for: 'no pods', timeoutMs: 120_000 })

await fillNode()
const noderoll = await noderollDrain()

figure('drain', 'kubectl_seconds', kubectl.seconds, 's')
figure('drain', 'noderoll_seconds', noderoll.seconds, 's')
figure('drain', 'speedup', kubectl.seconds / noderoll.seconds, 'ratio')
figure('drain', 'kubectl_requests_per_pod', kubectl.requests / PODS, 'requests')
figure('drain', 'requests_per_pod', noderoll.requests / PODS, 'requests')

await cluster.close()
await bed.close()

async function pods(): Promise<KubeObject[]> {
  return bed.kube.api.list('/api/v1/namespaces/default/pods')
}

/** All pods run on the one node; what replaces them has no other place, and stays pending. */
async function fillNode(): Promise<void> {
  const labels = { app: 'bench' }
  const template = {
    metadata: { labels },
    spec: {
      nodeSelector: { 'kubernetes.io/hostname': NODE },
      terminationGracePeriodSeconds: GRACE_SECONDS,
      automountServiceAccountToken: false,
      containers: [{ name: 'main', image: 'bench' }],
    },
  }
  await bed.kube.api.ok('POST', DEPLOYMENTS, {
    metadata: { name: 'bench' },
    spec: { replicas: PODS, selector: { matchLabels: labels }, template },
  })
  await bed.untilDeployed(PODS)
}

/** The kubectl of the control plane's own version, as an administrator runs it. */
async function kubectlDrain(): Promise<Drain> {
  const kubeconfig = await bed.kube.kubeconfigFile()
  const from = await bed.kube.audit.mark()
  const startedAt = performance.now()
  const args = ['drain', NODE, '--ignore-daemonsets', '--delete-emptydir-data']
  await promisify(execFile)(bed.kube.access.kubectl, args, {
    // Where kubectl keeps what it has discovered; without a home that would be here.
    env: { KUBECONFIG: kubeconfig, HOME: bed.kube.access.folder },
  })
  const seconds = (performance.now() - startedAt) / 1000
  await bed.kube.audit.settled()
  const asked = await bed.kube.audit.since(from, ({ userAgent }) => userAgent.startsWith('kubectl/'))
  return { seconds, requests: asked.length }
}

async function noderollDrain(): Promise<Drain> {
  const from = await bed.kube.audit.mark()
  const spec = await bed.spec(cluster, { pools: { worker: { offering: 'medium' } } })
  const { result } = await bed.roll(spec, 'drain')
  if (result.done.names.join() !== NODE) throw new Error(`rolled ${result.done.names.join()}`)
  const { began, ended } = await drainStep('drain')
  await bed.kube.audit.settled()
  const asked = await bed.kube.audit.since(
    from,
    ({ userAgent, time }) => userAgent === 'noderoll' && time >= began && time <= ended,
  )
  const evictions = asked.filter(({ subresource, code }) => subresource === 'eviction' && code === 201)
  if (evictions.length !== PODS) throw new Error(`${evictions.length} of ${PODS} pods were evicted`)
  return { seconds: (ended - began) / 1000, requests: asked.length }
}

/** When the workflow asked for the drain and when it was told of its end, in milliseconds since 1970. */
async function drainStep(workflowId: string): Promise<{ began: number; ended: number }> {
  const { events } = await bed.client.workflow.getHandle(workflowId).fetchHistory()
  const asked = events?.find(
    (one) => one.activityTaskScheduledEventAttributes?.activityType?.name === 'drainNode',
  )
  const done = events?.find(
    (one) =>
      one.activityTaskCompletedEventAttributes?.scheduledEventId?.toString() === asked?.eventId?.toString(),
  )
  return { began: timeOf(asked), ended: timeOf(done) }
}

function timeOf(
  event: { eventTime?: { seconds?: unknown; nanos?: number | null } | null } | undefined,
): number {
  return Number(event?.eventTime?.seconds) * 1000 + (event?.eventTime?.nanos ?? 0) / 1_000_000
}
