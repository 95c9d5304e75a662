import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { addNode, NODES } from './bare-nodes.js'
import { cleanCluster } from './clean.js'
import { startControlPlane } from './control-plane.js'
import type { KubeApi, KubeObject } from './kube-api.js'
import { type RealControlPlane, realControlPlane } from './parts.js'
import { waitUntil } from './wait.js'

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

  it('is emptied, whatever controllers and finalizers do', async () => {
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

    await cleanCluster(cluster)

    expect(await cluster.api.list('/api/v1/pods')).toEqual([])
    expect(await cluster.api.list(NODES)).toEqual([])
    expect(await cluster.api.list('/apis/apps/v1/replicasets')).toEqual([])
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
