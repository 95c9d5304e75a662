import { KubeConfig } from '@kubernetes/client-node'
import { afterEach, beforeAll, expect, it } from 'vitest'
import type { SimulatedCluster, SimulatedClusterOptions } from '../../src/simulation/cluster.js'
import { startSimulatedCluster } from '../../src/simulation/cluster.js'
import { createWorkloads } from '../../src/simulation/workloads.js'
import { cleanCluster } from '../support/clean.js'
import type { KubeObject } from '../support/kube-api.js'
import { type RealControlPlane, realControlPlane } from '../support/parts.js'
import { waitUntil } from '../support/wait.js'

const PODS = '/api/v1/namespaces/default/pods'

let kubernetes: RealControlPlane
let cluster: SimulatedCluster

beforeAll(async () => {
  kubernetes = await realControlPlane()
})

afterEach(async () => {
  await cluster.close()
  await cleanCluster(kubernetes)
})

const kubeConfig = () => {
  const config = new KubeConfig()
  config.loadFromString(kubernetes.kubeconfig('kubelet'))
  return config
}

const start = async (options: Partial<SimulatedClusterOptions> = {}) => {
  cluster = await startSimulatedCluster({
    ...{ kubeConfig: kubeConfig(), cluster: 'blue', control: 0, workers: 1 },
    ...options,
  })
}

interface PodWish {
  node?: string
  annotations?: Record<string, string>
  finalizers?: string[]
  graceSeconds?: number
}

const createPod = (
  name: string,
  { node = 'w-1', annotations = {}, finalizers = [], graceSeconds = 1 }: PodWish = {},
) =>
  kubernetes.api.ok('POST', PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, annotations, finalizers },
    spec: {
      ...{ nodeName: node, terminationGracePeriodSeconds: graceSeconds },
      containers: [{ name: 'main', image: 'none' }],
    },
  })

const isReady = ({ status }: KubeObject): boolean =>
  (status?.conditions ?? []).some(
    (condition: { type: string; status: string }) =>
      condition.type === 'Ready' && condition.status === 'True',
  )

const pod = async (name: string) => {
  const answer = await kubernetes.api.call('GET', `${PODS}/${name}`)
  return answer.status === 404 ? null : (answer.body as KubeObject)
}

const untilPod = (name: string, what: string, holds: (pod: KubeObject | null) => boolean) =>
  waitUntil(
    async () => {
      const seen = await pod(name)
      return holds(seen) ? { pod: seen } : null
    },
    { for: `pod ${name} to be ${what}`, everyMs: 10 },
  )

const untilRunning = (name: string) => untilPod(name, 'Ready', (seen) => seen !== null && isReady(seen))

const untilGone = (name: string) => untilPod(name, 'gone', (seen) => seen === null)

const deletePod = (name: string) => kubernetes.api.ok('DELETE', `${PODS}/${name}`)

const stop = async (name = 'w-1') => {
  cluster.cloud.act(name, { kind: 'stop' })
  await cluster.cloud.untilMachine(name, 'is off', ({ power }) => power === 'stopped')
}

it('runs a bound pod and ends it after its grace period', async () => {
  await start()
  await createPod('web', { graceSeconds: 1 })
  const running = (await untilRunning('web')).pod

  const asked = performance.now()
  await deletePod('web')
  await untilGone('web')

  expect(running?.status).toMatchObject({ phase: 'Running', hostIP: cluster.cloud.machine('w-1').ip })
  expect(performance.now() - asked).toBeGreaterThan(900)
})

it('ends a pod sooner than its grace period where told so for all of them', async () => {
  await start({ kubelets: { terminationMs: 10 } })
  await createPod('web', { graceSeconds: 300 })
  await untilRunning('web')

  const asked = performance.now()
  await deletePod('web')
  await untilGone('web')

  expect(performance.now() - asked).toBeLessThan(20_000)
})

it('B02 a finalizer keeps a pod that has ended, and it is deleted once only', async () => {
  await start()
  await createPod('web', {
    finalizers: ['example.com/keep'],
    annotations: { 'simulation.noderoll.io/termination-ms': '0' },
  })
  await untilRunning('web')
  const position = await kubernetes.audit.mark()

  await deletePod('web')
  await untilPod('web', 'ended', (seen) => seen?.metadata['deletionGracePeriodSeconds' as never] === 0)
  await kubernetes.api.ok('PATCH', `${PODS}/web`, { metadata: { labels: { touched: 'yes' } } })
  await createPod('after')
  await untilRunning('after')

  expect((await pod('web'))?.metadata.finalizers).toEqual(['example.com/keep'])
  const deletions = (await kubernetes.audit.writes(position, 'kubelet')).filter(
    ({ verb }) => verb === 'delete',
  )
  expect(deletions).toHaveLength(1)
  await kubernetes.api.ok('PATCH', `${PODS}/web`, { metadata: { finalizers: null } })
  await untilGone('web')
})

it('follows what annotations say: never Ready, slow to end, deaf to being ended', async () => {
  await start()
  await createPod('sick', { annotations: { 'simulation.noderoll.io/never-ready': 'true' } })
  await createPod('deaf', {
    annotations: { 'simulation.noderoll.io/ignores-termination': 'true' },
    graceSeconds: 0,
  })
  await createPod('quick', {
    annotations: { 'simulation.noderoll.io/termination-ms': '5' },
    graceSeconds: 300,
  })
  await untilPod('sick', 'running', (seen) => seen?.status.phase === 'Running')
  await Promise.all([untilRunning('deaf'), untilRunning('quick')])

  await kubernetes.api.ok('DELETE', `${PODS}/deaf`, { gracePeriodSeconds: 1 })
  await deletePod('quick')
  await untilGone('quick')

  expect(isReady((await pod('sick')) as KubeObject)).toBe(false)
  expect(await pod('deaf')).not.toBeNull()
  const unset = (key: string) => ({ metadata: { annotations: { [`simulation.noderoll.io/${key}`]: null } } })
  await kubernetes.api.ok('PATCH', `${PODS}/deaf`, unset('ignores-termination'))
  await kubernetes.api.ok('PATCH', `${PODS}/sick`, unset('never-ready'))
  await untilGone('deaf')
  await untilRunning('sick')
})

it('B01 never ends another pod of the same name', async () => {
  await start()
  await createPod('web', { graceSeconds: 1 })
  await untilRunning('web')
  await deletePod('web')
  await kubernetes.api.ok('DELETE', `${PODS}/web`, { gracePeriodSeconds: 0 })

  const replacement = await createPod('web', { graceSeconds: 1 })
  await untilRunning('web')
  await createPod('later', { annotations: { 'simulation.noderoll.io/termination-ms': '1500' } })
  await untilRunning('later')
  await deletePod('later')
  await untilGone('later')

  expect((await pod('web'))?.metadata.uid).toBe(replacement.metadata.uid)
})

it('a pod on a machine that is off is not Ready and cannot end; both when it is back', async () => {
  await start()
  await createPod('stays')
  await createPod('ends', { graceSeconds: 1 })
  await Promise.all([untilRunning('stays'), untilRunning('ends')])

  await stop()
  await deletePod('ends')
  await untilPod('stays', 'not Ready', (seen) => seen !== null && !isReady(seen))
  expect(await pod('ends')).not.toBeNull()

  cluster.cloud.act('w-1', { kind: 'start' })
  const { pod: back } = await untilRunning('stays')
  await untilGone('ends')

  expect(back?.status.containerStatuses[0].restartCount).toBe(1)
})

it('has mirror pods of the control plane on control nodes', async () => {
  await start({ control: 1 })

  const pods = await waitUntil(
    async () => {
      const found = await kubernetes.api.list('/api/v1/namespaces/kube-system/pods')
      return found.length === 4 && found.every(isReady) ? found : null
    },
    { for: 'four mirror pods that are Ready' },
  )

  expect(pods.map(({ metadata }) => metadata.name).sort()).toEqual([
    'etcd-c-1',
    'kube-apiserver-c-1',
    'kube-controller-manager-c-1',
    'kube-scheduler-c-1',
  ])
  expect(pods.every(({ metadata }) => metadata.annotations?.['kubernetes.io/config.mirror'])).toBe(true)
})

it('runs hundreds of pods in seconds, and ends them as quickly', async () => {
  await start({ workers: 3, kubelets: { podsPerNode: 200 } })
  const names = Array.from({ length: 300 }, (_, index) => `p-${index}`)
  const all = async () => await kubernetes.api.list(PODS)

  const created = performance.now()
  await Promise.all(
    names.map((name, index) =>
      createPod(name, {
        node: `w-${(index % 3) + 1}`,
        annotations: { 'simulation.noderoll.io/termination-ms': '0' },
      }),
    ),
  )
  await waitUntil(async () => (await all()).filter(isReady).length === 300, {
    for: '300 Ready pods',
    everyMs: 100,
    timeoutMs: 60_000,
  })
  await kubernetes.api.ok('DELETE', PODS)
  await waitUntil(async () => (await all()).length === 0, { for: 'no pods', everyMs: 100, timeoutMs: 60_000 })

  expect(performance.now() - created).toBeLessThan(60_000)
})

it('runs the workloads of the demo: every pod Ready, every budget with room', async () => {
  await start({ control: 1, workers: 3, machine: { offering: 'large' } })

  await createWorkloads({ kubeConfig: kubeConfig(), namespaceLabels: { 'noderoll.test': '1' } })

  const shop = '/api/v1/namespaces/shop/pods'
  await waitUntil(
    async () => {
      const pods = await kubernetes.api.list(shop)
      return pods.length === 17 && pods.every(isReady)
    },
    { for: '13 pods and an agent on each of 4 nodes' },
  )
  const budgets = await waitUntil(
    async () => {
      const found = await kubernetes.api.list('/apis/policy/v1/namespaces/shop/poddisruptionbudgets')
      return found.every(({ status }) => status.disruptionsAllowed === 1) ? found : null
    },
    { for: 'budgets that allow one disruption' },
  )
  expect(budgets.map(({ metadata }) => metadata.name).sort()).toEqual(['api', 'orders-db', 'web'])
})
