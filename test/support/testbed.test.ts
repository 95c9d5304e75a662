import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Client, Connection } from '@temporalio/client'
import { NativeConnection, Worker } from '@temporalio/worker'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { fillOnce } from '../../scripts/cache.mjs'
import { cleanCluster } from './clean.js'
import { startControlPlane } from './control-plane.js'
import { KubeApi, type KubeObject } from './kube-api.js'
import { type RealControlPlane, realControlPlane, realTemporal } from './parts.js'
import type { pause } from './pause.workflow.js'
import { answer, blackHole, delay, FaultProxy, loseAnswer, pass, pretend, refuse } from './proxy.js'
import './quiet-runtime.js'
import { startTemporal } from './temporal.js'
import { timeSkippingInterceptor } from './time-skipping.js'
import { waitUntil } from './wait.js'

const NODES = '/api/v1/nodes'
const PODS = '/api/v1/namespaces/default/pods'
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets'
const RBAC = '/apis/rbac.authorization.k8s.io/v1'

describe('a real control plane', () => {
  let cluster: RealControlPlane

  beforeAll(async () => {
    cluster = await realControlPlane()
  })

  beforeEach(async () => {
    await cleanCluster(cluster)
  })

  it('its audit log tells who wrote what, and who was refused', async () => {
    await addNode(cluster.api, 'w-1')
    const noderoll = cluster.apiOf('noderoll')
    const start = await cluster.audit.mark()
    const patch = { metadata: { annotations: { 'noderoll.io/acting': 'x' } } }
    const refused = await noderoll.call('PATCH', `${NODES}/w-1`, patch, { userAgent: 'noderoll/1' })
    await cluster.api.ok('PATCH', `${NODES}/w-1`, patch)
    await noderoll.call('GET', NODES)
    await cluster.audit.settled()

    expect(refused.status).toBe(403)
    const patched = { verb: 'patch', resource: 'nodes', name: 'w-1' }
    expect(await cluster.audit.writes(start, 'noderoll')).toMatchObject([
      { ...patched, user: 'noderoll', userAgent: 'noderoll/1', code: 403 },
    ])
    expect(await cluster.audit.writes(start, 'admin')).toMatchObject([
      { ...patched, user: 'admin', code: 200, requestBody: patch },
    ])
    expect(await cluster.audit.since(start, { user: 'noderoll', verb: 'list' })).toHaveLength(1)
  })

  it('gives a user without groups what RBAC gives him', async () => {
    const name = 'testbed-reads-nodes'
    const metadata = { name }
    const rules = [{ apiGroups: [''], resources: ['nodes'], verbs: ['list'] }]
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name }
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'noderoll' }]
    await cluster.api.ok('POST', `${RBAC}/clusterroles`, { metadata, rules })
    await cluster.api.ok('POST', `${RBAC}/clusterrolebindings`, { metadata, roleRef, subjects })
    const noderoll = cluster.apiOf('noderoll')

    await waitUntil(async () => (await noderoll.call('GET', NODES)).status === 200, { for: 'the role' })
    expect((await noderoll.call('GET', PODS)).status).toBe(403)

    await cluster.api.ok('DELETE', `${RBAC}/clusterrolebindings/${name}`)
    await cluster.api.ok('DELETE', `${RBAC}/clusterroles/${name}`)
  })

  it('has a version that kubectl can parse', async () => {
    const kubeconfig = await cluster.kubeconfigFile()
    const args = ['--kubeconfig', kubeconfig, 'version', '-o', 'json']
    const { stdout, stderr } = await promisify(execFile)(cluster.kubectl, args)

    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toMatchObject({
      clientVersion: { gitVersion: cluster.access.version },
      serverVersion: { gitVersion: cluster.access.version, major: '1' },
    })
  })

  it('blocks an eviction by a budget, and lets it through when the budget allows it', async () => {
    await addNode(cluster.api, 'w-1')
    await addRunningPod(cluster.api, 'guarded', 'w-1')
    await cluster.api.ok('POST', BUDGETS, {
      metadata: { name: 'guard' },
      spec: { minAvailable: 1, selector: { matchLabels: { app: 'guarded' } } },
    })
    await waitUntil(async () => (await budget(cluster.api)).status.currentHealthy === 1, { for: 'the count' })

    const blocked = await evict(cluster.api, 'guarded')
    expect(blocked).toMatchObject({
      status: 429,
      body: { details: { causes: [{ reason: 'DisruptionBudget' }] } },
    })

    await cluster.api.ok('PATCH', `${BUDGETS}/guard`, { spec: { minAvailable: 0 } })
    await waitUntil(async () => (await budget(cluster.api)).status.disruptionsAllowed === 1, {
      for: 'a spare',
    })
    expect(await evict(cluster.api, 'guarded')).toMatchObject({ status: 201 })
    expect((await cluster.api.ok('GET', `${PODS}/guarded`)).metadata.deletionTimestamp).toBeDefined()
  })

  it('is emptied within a second, whatever controllers and finalizers do', async () => {
    await addNode(cluster.api, 'w-1')
    await addRunningPod(cluster.api, 'held', 'w-1')
    await cluster.api.ok('PATCH', `${PODS}/held`, { metadata: { finalizers: ['example.org/held'] } })
    const labels = { app: 'web' }
    await cluster.api.ok('POST', '/apis/apps/v1/namespaces/default/deployments', {
      metadata: { name: 'web' },
      spec: {
        replicas: 20,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
      },
    })
    await waitUntil(async () => (await cluster.api.list(PODS)).length === 21, { for: 'the pods' })

    const started = performance.now()
    await cleanCluster(cluster)
    const took = performance.now() - started

    expect(await cluster.api.list('/api/v1/pods')).toEqual([])
    expect(await cluster.api.list(NODES)).toEqual([])
    expect(await cluster.api.list('/apis/apps/v1/replicasets')).toEqual([])
    expect(took).toBeLessThan(3_000)
  })

  it('hangs while its API server is paused, and keeps its objects over a restart', async () => {
    await addNode(cluster.api, 'w-1')
    cluster.apiServer.pause()
    const options = { signal: AbortSignal.timeout(300) }
    await expect(cluster.api.call('GET', NODES, undefined, options)).rejects.toThrow(/abort/i)
    cluster.apiServer.resume()
    expect(await cluster.api.list(NODES)).toHaveLength(1)

    await cluster.apiServer.kill()
    await expect(cluster.api.call('GET', NODES)).rejects.toThrow()
    await cluster.apiServer.restart()
    expect(await cluster.api.list(NODES)).toHaveLength(1)
  })
})

describe('a control plane of a test’s own', () => {
  it('has several API servers and etcd members, survives the loss of one, and leaves nothing behind', async () => {
    const cluster = await startControlPlane({
      extraApiServers: 1,
      etcdMembers: 3,
      controllerManager: false,
      scheduler: false,
    })
    const pids = [...cluster.apiServers, ...cluster.etcd].map(({ pid }) => pid)
    try {
      const second = cluster.apiOf('admin', cluster.access.urls[1])
      const start = await cluster.audit.mark()
      await addNode(cluster.api, 'w-1')
      await cluster.apiServer.kill()
      await cluster.etcd[0]?.kill()
      await waitUntil(() => addNode(second, 'w-2'), { for: 'the members that are left to elect a leader' })
      await cluster.etcd[0]?.restart()
      await cluster.apiServer.restart()
      await cluster.audit.settled()
      const created = await cluster.audit.since(start, { verb: 'create', resource: 'nodes', code: 201 })

      expect(created.map(({ name }) => name)).toEqual(['w-1', 'w-2'])
      pids.push(cluster.apiServer.pid)
    } finally {
      await cluster.stop()
    }
    expect(pids.filter(isAlive)).toEqual([])
    expect(existsSync(cluster.access.folder)).toBe(false)
  })

  it('dies with the process that has started it, even when that one is killed', async () => {
    const script = `
      import { ProcessGroup } from ${JSON.stringify(fileURLToPath(new URL('./processes.ts', import.meta.url)))}
      const group = new ProcessGroup('watched')
      const started = await group.start({ name: 'sleeper', program: 'sleep', args: ['600'] })
      started.pause()
      console.log(JSON.stringify({ pid: started.pid, folder: group.folder }))
      setInterval(() => undefined, 1000)
    `
    const runner = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script])
    const [line] = await once(runner.stdout, 'data')
    const { pid, folder } = JSON.parse(String(line))
    expect(isAlive(pid)).toBe(true)

    runner.kill('SIGKILL')

    await waitUntil(() => !isAlive(pid) && !existsSync(folder), { for: 'the end of its processes' })
  })
})

describe('a real Temporal server', () => {
  let connection: Connection
  let native: NativeConnection
  let worker: Worker
  let running: Promise<void>
  let namespace: string
  const taskQueue = 'testbed'

  beforeAll(async () => {
    const temporal = await realTemporal()
    namespace = temporal.namespace
    const { address } = temporal
    connection = await Connection.connect({ address, interceptors: [timeSkippingInterceptor] })
    native = await NativeConnection.connect({ address })
    const workflowsPath = fileURLToPath(new URL('./pause.workflow.ts', import.meta.url))
    worker = await Worker.create({ connection: native, namespace, taskQueue, workflowsPath })
    running = worker.run()
  })

  afterAll(async () => {
    worker.shutdown()
    await running
    await native.close()
    await connection.close()
  })

  it('skips time for workflows started over a connection with the interceptor', async () => {
    const client = new Client({ connection, namespace })
    const started = performance.now()
    const options = { taskQueue, workflowId: 'skips', args: [6 * 3_600_000] as [number] }
    const paused = await client.workflow.execute<typeof pause>('pause', options)

    expect(paused).toBeGreaterThanOrEqual(6 * 3_600_000)
    expect(performance.now() - started).toBeLessThan(10_000)
  })

  it('has precise timers without it', async () => {
    const { address } = await realTemporal()
    const plain = await Connection.connect({ address })
    const client = new Client({ connection: plain, namespace })
    const options = { taskQueue, workflowId: 'waits', args: [200] as [number] }
    const paused = await client.workflow.execute<typeof pause>('pause', options)
    await plain.close()

    expect(paused).toBeGreaterThanOrEqual(200)
    expect(paused).toBeLessThan(900)
  })

  it('keeps workflows over a restart when asked to, and has the given namespaces', async () => {
    const server = await startTemporal({ persistent: true, namespaces: ['prod'], suggestContinueAsNew: 60 })
    try {
      if (!server.process) return
      const start = { taskQueue: 'nobody', workflowId: 'kept', args: [1] as [number] }
      const before = await Connection.connect({ address: server.address })
      await new Client({ connection: before, namespace: 'prod' }).workflow.start<typeof pause>('pause', start)
      await before.close()
      await server.process.restart()
      const after = await Connection.connect({ address: server.address })
      const kept = await new Client({ connection: after, namespace: 'prod' }).workflow
        .getHandle('kept')
        .describe()
      await after.close()

      expect(kept.status.name).toBe('RUNNING')
    } finally {
      await server.stop()
    }
  })
})

describe('a fault proxy', () => {
  let cluster: RealControlPlane
  let proxy: FaultProxy
  let api: KubeApi
  const patch = { metadata: { annotations: { a: 'b' } } }

  beforeAll(async () => {
    cluster = await realControlPlane()
    proxy = await FaultProxy.start({ url: cluster.url, ca: cluster.access.ca })
    api = new KubeApi({ url: proxy.url, ca: proxy.ca, token: cluster.adminToken })
  })

  beforeEach(async () => {
    await proxy.reset()
    await cleanCluster(cluster)
    await addNode(cluster.api, 'w-1')
  })

  afterAll(async () => {
    api.close()
    await proxy.stop()
  })

  async function annotation(): Promise<string | undefined> {
    return (await cluster.api.ok('GET', `${NODES}/w-1`)).metadata.annotations?.a
  }

  it('passes what no rule decides, kubectl’s requests too, and logs it', async () => {
    expect(await api.list(NODES)).toHaveLength(1)
    expect(proxy.requests).toMatchObject([{ method: 'GET', path: NODES, verdict: 'pass', status: 200 }])

    const kubeconfig = await cluster.kubeconfigFile('admin', proxy.url, { ca: proxy.ca })
    const args = ['--kubeconfig', kubeconfig, 'label', 'node', 'w-1', 'a=b']
    const { stdout } = await promisify(execFile)(cluster.kubectl, args)
    expect(stdout).toContain('w-1 labeled')
  })

  it('swallows, breaks, answers and delays requests', async () => {
    const limited = () => ({ signal: AbortSignal.timeout(300) })
    const path = `${NODES}/w-1`
    proxy.on({ method: 'PATCH' }, blackHole(), { times: 1 })
    await expect(api.call('PATCH', path, patch, limited())).rejects.toThrow(/abort/i)
    proxy.on({ path: /nodes/ }, refuse(), { times: 1 })
    await expect(api.call('PATCH', path, patch)).rejects.toThrow(/hang up|ECONNRESET/)
    proxy.on({ path }, answer(429, { kind: 'Status' }, { 'retry-after': '10' }), { times: 1 })
    expect(await api.call('PATCH', path, patch)).toMatchObject({
      status: 429,
      headers: { 'retry-after': '10' },
    })
    expect(await annotation()).toBeUndefined()

    const late = proxy.on(({ method }) => method === 'PATCH', delay(400), { times: 1 })
    await expect(api.call('PATCH', path, patch, limited())).rejects.toThrow(/abort/i)
    expect(late.hits).toHaveLength(1)
    await waitUntil(async () => (await annotation()) === 'b', { for: 'the late patch' })
  })

  it('loses an answer, pretends a write, and changes headers', async () => {
    const path = `${NODES}/w-1`
    proxy.on({ method: 'PATCH' }, pretend(), { times: 1 })
    expect(await api.call('PATCH', path, patch)).toMatchObject({ status: 200, body: { kind: 'Node' } })
    expect(await annotation()).toBeUndefined()
    proxy.on({ method: 'PATCH' }, loseAnswer(), { times: 1 })
    await expect(api.call('PATCH', path, patch)).rejects.toThrow(/hang up|ECONNRESET/)
    expect(await annotation()).toBe('b')
    proxy.on({}, pass({ headers: { authorization: undefined } }), { times: 1 })
    expect(await api.call('GET', path)).toMatchObject({ status: 403 })
    proxy.on({}, pass({ change: ({ body }) => ({ body: body.replace('w-1', 'w-9') }) }), { times: 1 })
    expect((await api.ok('GET', path)).metadata.name).toBe('w-9')
  })

  it('tells a test that an answer has arrived before the client gets it', async () => {
    const steps: string[] = []
    const onResponse = async () => {
      steps.push(`arrived ${await annotation()}`)
      steps.push(`held ${await annotation()}`)
    }
    const rule = proxy.on({ method: 'PATCH' }, pass({ onResponse }))
    await api.ok('PATCH', `${NODES}/w-1`, patch)
    steps.push('received')

    expect(steps).toEqual(['arrived b', 'held b', 'received'])
    expect((await rule.hit).body).toBe(JSON.stringify(patch))
  })

  it('streams watches, also while they are frozen and after', async () => {
    const events: string[] = []
    const around: string[] = []
    const watching = new AbortController()
    const watch = async (through: KubeApi, told: string[]) => {
      for await (const { type, object } of through.watch(NODES, watching.signal)) {
        if (type === 'ADDED') told.push(object.metadata.name)
      }
    }
    const watched = watch(api, events).catch(String)
    const watchedAround = watch(cluster.api, around).catch(String)
    await waitUntil(() => events.includes('w-1'), { for: 'the first event' })
    await addNode(cluster.api, 'w-2')
    await waitUntil(() => events.includes('w-2'), { for: 'an event', timeoutMs: 2_000 })

    proxy.freeze()
    await addNode(cluster.api, 'w-3')
    const meanwhile = api.list(NODES)
    await waitUntil(() => around.includes('w-3'), { for: 'the event, around the proxy' })
    expect(events).toEqual(['w-1', 'w-2'])
    proxy.thaw()
    await waitUntil(() => events.includes('w-3'), { for: 'the event held up' })
    expect(await meanwhile).toHaveLength(3)
    watching.abort()
    expect(await Promise.all([watched, watchedAround])).toEqual([
      expect.stringMatching(/abort/i),
      expect.stringMatching(/abort/i),
    ])
  })

  it('refuses connections while it is down', async () => {
    await proxy.down()
    const fresh = new KubeApi({ url: proxy.url, ca: proxy.ca, token: cluster.adminToken })
    await expect(fresh.list(NODES)).rejects.toThrow(/ECONNREFUSED/)
    await proxy.up()
    expect(await fresh.list(NODES)).toHaveLength(1)
    fresh.close()
  })
})

describe('the cache', () => {
  let folder: string

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'noderoll-cache-'))
  })

  it('is filled once, however many ask', async () => {
    let fillings = 0
    const fill = async (unfinished: string) => {
      fillings++
      await writeFile(join(unfinished, 'program'), '')
    }
    const target = join(folder, 'tool')
    await Promise.all([1, 2, 3].map(() => fillOnce(target, fill, () => undefined)))

    expect(fillings).toBe(1)
    expect(existsSync(join(target, 'program'))).toBe(true)
    await rm(folder, { recursive: true })
  })

  it('does not wait for who was killed, and keeps nothing half-filled', async () => {
    const target = join(folder, 'tool')
    await writeFile(`${target}.lock`, 'somebody')
    await utimes(`${target}.lock`, 0, 0)
    const fails = fillOnce(
      target,
      () => Promise.reject(new Error('no disk')),
      () => undefined,
    )
    await expect(fails).rejects.toThrow('no disk')
    expect(existsSync(target)).toBe(false)
    await fillOnce(
      target,
      () => Promise.resolve(),
      () => undefined,
    )

    expect(existsSync(target)).toBe(true)
    expect(existsSync(`${target}.lock`)).toBe(false)
    await rm(folder, { recursive: true })
  })
})

async function addNode(api: KubeApi, name: string): Promise<KubeObject> {
  return await api.ok('POST', NODES, { metadata: { name } })
}

/** What the scheduler and a kubelet would do to a pod, without them. */
async function addRunningPod(api: KubeApi, name: string, nodeName: string): Promise<void> {
  await api.ok('POST', PODS, {
    metadata: { name, labels: { app: name } },
    spec: { nodeName, tolerations: [{ operator: 'Exists' }], containers: [{ name: 'c', image: 'i' }] },
  })
  await api.ok('PATCH', `${PODS}/${name}/status`, {
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  })
}

async function budget(api: KubeApi): Promise<KubeObject> {
  return await api.ok('GET', `${BUDGETS}/guard`)
}

async function evict(api: KubeApi, name: string) {
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace: 'default' } }
  return await api.call('POST', `${PODS}/${name}/eviction`, eviction)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
