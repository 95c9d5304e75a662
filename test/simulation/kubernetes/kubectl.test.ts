import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { beforeAll, beforeEach, expect, it } from 'vitest'
import { BUDGETS, CONTAINER, conditionOf, NODES, onBoth, PODS, WORKLOADS } from './conformance.js'

onBoth('kubectl', (cluster) => {
  let kubeconfig: string

  beforeAll(async () => {
    kubeconfig = await cluster().kube.kubeconfigFile()
  })

  beforeEach(async () => {
    await cluster().clean()
    await cluster().addNode('n-1', { labels: { 'node-role.kubernetes.io/control-plane': '' } })
  })

  const kubectl = async (...args: string[]): Promise<string> => {
    const all = ['--kubeconfig', kubeconfig, '--request-timeout=20s', ...args]
    const { stdout, stderr } = await promisify(execFile)(cluster().kube.kubectl, all)
    return stdout + stderr
  }

  const linesOf = (text: string) =>
    text
      .trim()
      .split('\n')
      .map((line) => line.trim().split(/\s{2,}/))

  it('prints nodes as a table', async () => {
    const [heading, row] = linesOf(await kubectl('get', 'nodes'))

    expect(heading).toEqual(['NAME', 'STATUS', 'ROLES', 'AGE', 'VERSION'])
    expect(row?.slice(0, 3)).toEqual(['n-1', 'Ready', 'control-plane'])
    expect(row?.[3]).toMatch(/^\d+s$/)
  })

  it('prints pods as a table, with their nodes when asked', async () => {
    await cluster().addPod('web', 'n-1')
    const [heading, row] = linesOf(await kubectl('get', 'pods', '-o', 'wide'))

    expect(heading?.slice(0, 7)).toEqual(['NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE', 'IP', 'NODE'])
    expect(row?.[0]).toBe('web')
    expect(row?.slice(2, 4)).toEqual(['Running', '0'])
    expect(row?.slice(5, 7)).toEqual(['<none>', 'n-1'])
  })

  it.each([
    'deployments',
    'statefulsets',
    'daemonsets',
    'replicasets',
    'pdb',
    'events',
    'ns',
    'leases',
    'cm',
  ])('prints %s', async (kind) => {
    const text = await kubectl('get', kind, '-n', 'kube-system')

    expect(text).toMatch(/^(NAME|LAST SEEN|No resources found)/)
  })

  it('describes a node with its pods, and a pod', async () => {
    await cluster().addPod('web', 'n-1')

    const node = await kubectl('describe', 'node', 'n-1')
    const pod = await kubectl('describe', 'pod', 'web')

    expect(node).toMatch(/Name: +n-1\nRoles: +control-plane/)
    expect(node).toMatch(/Non-terminated Pods: +\(1 in total\)/)
    expect(pod).toMatch(/Node: +n-1/)
    expect(pod).toMatch(/Status: +Running/)
  })

  it('cordons and uncordons', async () => {
    expect(await kubectl('cordon', 'n-1')).toBe('node/n-1 cordoned\n')
    expect((await cluster().get(`${NODES}/n-1`)).spec.unschedulable).toBe(true)
    expect(await kubectl('get', 'nodes')).toContain('Ready,SchedulingDisabled')
    expect(await kubectl('uncordon', 'n-1')).toBe('node/n-1 uncordoned\n')
    expect((await cluster().get(`${NODES}/n-1`)).spec).not.toHaveProperty('unschedulable')
  })

  it('labels, annotates and taints, and takes it back', async () => {
    await kubectl('label', 'node', 'n-1', 'zone=a')
    await kubectl('annotate', 'node', 'n-1', 'note=x')
    await kubectl('taint', 'node', 'n-1', 'special=1:NoSchedule')
    const { metadata, spec } = await cluster().get(`${NODES}/n-1`)
    expect(metadata).toMatchObject({ labels: { zone: 'a' }, annotations: { note: 'x' } })
    expect(spec.taints).toMatchObject([{ key: 'special', value: '1', effect: 'NoSchedule' }])

    await kubectl('label', 'node', 'n-1', 'zone-')
    await kubectl('taint', 'node', 'n-1', 'special-')
    const after = await cluster().get(`${NODES}/n-1`)
    expect(after.metadata.labels).not.toHaveProperty('zone')
    expect(after.spec).not.toHaveProperty('taints')
  })

  it('drains: evicts what may go, past what a DaemonSet keeps', async () => {
    const labels = { app: 'agent' }
    await cluster().addPod('web', 'n-1', { spec: { terminationGracePeriodSeconds: 0 } })
    await cluster().ok('POST', `${WORKLOADS}/daemonsets`, {
      metadata: { name: 'agent' },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [CONTAINER] } },
      },
    })
    const agents = `${PODS}?labelSelector=app%3Dagent`
    await cluster().until(
      agents,
      'be one with a place',
      ({ items }) => items.length === 1 && items[0].spec.nodeName !== undefined,
    )

    const text = await kubectl('drain', 'n-1', '--ignore-daemonsets', '--force', '--timeout=20s')

    expect(text).toContain('ignoring DaemonSet-managed Pods: default/agent-')
    expect(text).toContain('evicting pod default/web')
    expect(text).toContain('node/n-1 drained')
    expect((await cluster().call('GET', `${PODS}/web`)).status).toBe(404)
    expect((await cluster().list(agents)).filter(({ metadata }) => metadata.deletionTimestamp)).toEqual([])
    expect((await cluster().get(`${NODES}/n-1`)).spec.unschedulable).toBe(true)
  })

  it('is held up by a budget while it drains', async () => {
    await cluster().addPod('web', 'n-1')
    await cluster().ok('POST', BUDGETS, {
      metadata: { name: 'guard' },
      spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
    })
    await cluster().until(`${BUDGETS}/guard`, 'be counted', ({ status }) => status.currentHealthy === 1)

    const drained = kubectl('drain', 'n-1', '--force', '--timeout=2s')

    await expect(drained).rejects.toThrow(/would violate the pod's disruption budget/)
    expect(conditionOf(await cluster().get(`${PODS}/web`), 'DisruptionTarget')).toBeUndefined()
  })

  it('waits for a condition, follows changes, and deletes', async () => {
    await cluster().addPod('web', 'n-1', { ready: 'False' })
    const waiting = kubectl('wait', 'pod/web', '--for=condition=Ready', '--timeout=10s')
    await cluster().sayRunning('web')
    expect(await waiting).toBe('pod/web condition met\n')

    expect(await kubectl('delete', 'pod', 'web', '--grace-period=0', '--force')).toContain(
      'pod "web" force deleted',
    )
    expect((await cluster().call('GET', `${PODS}/web`)).status).toBe(404)
  })
})
