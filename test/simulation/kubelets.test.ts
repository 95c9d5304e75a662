import { KubeConfig } from '@kubernetes/client-node'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { SimulatedCluster, SimulatedClusterOptions } from '../../src/simulation/cluster.js'
import { startSimulatedCluster } from '../../src/simulation/cluster.js'
import { cleanCluster } from '../support/clean.js'
import type { KubeObject } from '../support/kube-api.js'
import { type RealControlPlane, realControlPlane } from '../support/parts.js'
import { waitUntil } from '../support/wait.js'

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'

let kubernetes: RealControlPlane
let cluster: SimulatedCluster

beforeAll(async () => {
  kubernetes = await realControlPlane()
})

afterEach(async () => {
  await cluster.close()
  await cleanCluster(kubernetes)
})

const start = async (options: Partial<SimulatedClusterOptions> = {}) => {
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromString(kubernetes.kubeconfig('kubelet'))
  cluster = await startSimulatedCluster({ kubeConfig, cluster: 'blue', control: 0, workers: 1, ...options })
}

const node = (name = 'w-1') => kubernetes.api.ok('GET', `/api/v1/nodes/${name}`)

const readyOf = ({ status }: KubeObject): string =>
  status.conditions.find((condition: { type: string }) => condition.type === 'Ready').status

const bootIdOf = ({ status }: KubeObject): string => status.nodeInfo.bootID

const untilNode = (what: string, holds: (node: KubeObject) => boolean, name = 'w-1') =>
  waitUntil(
    async () => {
      const seen = await node(name)
      return holds(seen) ? seen : null
    },
    { for: `${name} to be ${what}` },
  )

const stop = async (name = 'w-1') => {
  cluster.cloud.act(name, { kind: 'stop' })
  await cluster.cloud.untilMachine(name, 'is off', ({ power }) => power === 'stopped')
}

const powerOn = async (name = 'w-1') => {
  cluster.cloud.act(name, { kind: 'start' })
  await cluster.cloud.untilMachine(name, 'runs', ({ power }) => power === 'running')
}

describe('nodes', () => {
  it('CKS-00 registers every machine with its providerID, role, size and a Lease; no Node for external etcd', async () => {
    await start({ control: 1, workers: 2, etcd: 1, machine: { offering: 'medium', rootDiskGiB: 100 } })

    const nodes = await kubernetes.api.list('/api/v1/nodes')
    const leases = await waitUntil(
      async () => {
        const found = await kubernetes.api.list(LEASES)
        return found.length === 3 ? found : null
      },
      { for: 'three Leases' },
    )

    expect(nodes.map(({ metadata }) => metadata.name).sort()).toEqual(['c-1', 'w-1', 'w-2'])
    expect(leases.map(({ metadata }) => metadata.name).sort()).toEqual(['c-1', 'w-1', 'w-2'])
    for (const seen of nodes) {
      const machine = cluster.cloud.machine(seen.metadata.name)
      expect(seen.spec.providerID).toBe(machine.providerId)
      expect(seen.status.capacity).toEqual({
        ...{ cpu: '4', memory: '8Gi', pods: '110', 'ephemeral-storage': '96Gi' },
      })
      expect('node-role.kubernetes.io/control-plane' in (seen.metadata.labels ?? {})).toBe(
        machine.type === 'control',
      )
    }
    expect(new Set(nodes.map(bootIdOf)).size).toBe(3)
  })

  it('is NotReady at once when its machine stops, and Ready with a new boot id after start and boot', async () => {
    await start({ delays: { bootMs: 100 } })
    const before = await node()

    await stop()
    const off = await untilNode('NotReady', (seen) => readyOf(seen) === 'False')
    await powerOn()
    const after = await untilNode('Ready', (seen) => readyOf(seen) === 'True')

    expect(bootIdOf(off)).toBe(bootIdOf(before))
    expect(bootIdOf(after)).not.toBe(bootIdOf(before))
    expect(after.metadata.uid).toBe(before.metadata.uid)
  })

  it('shows new size and disk after the restart', async () => {
    await start({ machine: { offering: 'small', rootDiskGiB: 50 } })
    const before = await node()
    await stop()
    cluster.cloud.act('w-1', { kind: 'setOffering', offering: 'large' })
    await cluster.cloud.untilMachine('w-1', 'is large', ({ operation }) => operation === null)
    cluster.cloud.act('w-1', { kind: 'growRootDisk', sizeGiB: 100 })
    await cluster.cloud.untilMachine('w-1', 'has 100 GiB', ({ operation }) => operation === null)
    await powerOn()

    const after = await untilNode('rebooted', (seen) => bootIdOf(seen) !== bootIdOf(before))

    expect(after.status.capacity).toMatchObject({ cpu: '8', 'ephemeral-storage': '96Gi' })
    expect(after.metadata.labels?.['node.kubernetes.io/instance-type']).toBe('large')
  })

  it('says Unknown after a crash, and leaves a silent node alone when told to', async () => {
    await start({ workers: 1 })
    cluster.cloud.crash('w-1')
    await untilNode('Unknown', (seen) => readyOf(seen) === 'Unknown')
    await cluster.close()

    await start({ kubelets: { markNotReadyAtOnce: false } })
    await stop()
    // Another node's write shows that the kubelets have worked since.
    cluster.cloud.addMachine({ cluster: 'blue', name: 'w-2', type: 'worker' })
    await cluster.kubelets.untilReady(['w-2'])

    expect(readyOf(await node())).toBe('True')
  })

  it('puts right what somebody else says of a node that runs', async () => {
    await start()
    const { status } = await node()
    const conditions = status.conditions.map((condition: { type: string }) =>
      condition.type === 'Ready' ? { ...condition, status: 'Unknown' } : condition,
    )

    const spoken = await kubernetes.api.ok('PATCH', '/api/v1/nodes/w-1/status', { status: { conditions } })

    const { metadata } = await untilNode('Ready', (seen) => readyOf(seen) === 'True')
    expect(Number(metadata.resourceVersion)).toBeGreaterThan(Number(spoken.metadata.resourceVersion))
  })

  it('writes nothing while nothing changes, whatever the API server makes of what it said', async () => {
    await start({ kubelets: { leaseRenewMs: 0 } })
    const position = await kubernetes.audit.mark()

    cluster.cloud.addMachine({ cluster: 'blue', name: 'w-2', type: 'worker' })
    await cluster.kubelets.untilReady(['w-2'])

    await kubernetes.audit.settled()
    const writes = await kubernetes.audit.writes(position, 'kubelet')
    expect(writes.map(({ verb, resource }) => `${verb} ${resource}`)).toEqual(['create nodes'])
  })

  it('creates no Node for a machine that is off, and one when it first runs', async () => {
    await start()
    cluster.cloud.addMachine({ cluster: 'blue', name: 'w-2', type: 'worker', power: 'stopped' })
    cluster.cloud.addMachine({ cluster: 'blue', name: 'w-3', type: 'worker' })
    await cluster.kubelets.untilReady(['w-3'])
    expect((await kubernetes.api.call('GET', '/api/v1/nodes/w-2')).status).toBe(404)

    await powerOn('w-2')
    await cluster.kubelets.untilReady(['w-2'])

    expect(readyOf(await node('w-2'))).toBe('True')
  })

  it('B35 goes to another API server when the first cannot be reached', async () => {
    const kubeConfig = new KubeConfig()
    kubeConfig.loadFromString(kubernetes.kubeconfig('kubelet', 'https://127.0.0.1:1'))

    await start({ kubeConfig, kubelets: { endpoints: [kubernetes.url] } })

    expect(readyOf(await node())).toBe('True')
  })

  it('takes the place of a Node left over from another cluster of the same name', async () => {
    await start({ cluster: 'green' })
    const old = await node()
    await cluster.close()

    await start({ cluster: 'blue' })

    expect((await node()).spec.providerID).toBe(cluster.cloud.machine('w-1').providerId)
    expect((await node()).metadata.uid).not.toBe(old.metadata.uid)
  })

  it('deletes its Nodes at the end when told to', async () => {
    await start({ workers: 2 })

    await cluster.close({ deleteNodes: true })

    expect(await kubernetes.api.list('/api/v1/nodes')).toEqual([])
  })

  it('goes on after the API server was away', async () => {
    await start()
    const before = await node()
    await kubernetes.apiServer.kill()
    await stop()
    await powerOn()

    await kubernetes.apiServer.restart()

    const after = await untilNode('back', (seen) => bootIdOf(seen) !== bootIdOf(before))
    expect(readyOf(after)).toBe('True')
  })
})

describe('oddities', () => {
  it('never becomes Ready, until it is allowed to', async () => {
    await start({ workers: 2 })

    cluster.kubelets.script('w-1', { neverReady: true })
    await untilNode('NotReady', (seen) => readyOf(seen) === 'False')
    const before = await node()
    await stop()
    await powerOn()
    const after = await untilNode('rebooted', (seen) => bootIdOf(seen) !== bootIdOf(before))
    expect(readyOf(after)).toBe('False')

    cluster.kubelets.script('w-1', { neverReady: false })
    await untilNode('Ready', (seen) => readyOf(seen) === 'True')
  })

  it('B10 comes back with the boot id it had', async () => {
    await start()
    const before = await node()
    cluster.kubelets.script('w-1', { keepsBootId: true })

    await stop()
    await untilNode('NotReady', (seen) => readyOf(seen) === 'False')
    await powerOn()

    const after = await untilNode('Ready', (seen) => readyOf(seen) === 'True')
    expect(bootIdOf(after)).toBe(bootIdOf(before))
  })

  it('B10 restarts without ever being NotReady', async () => {
    await start()
    const before = await node()
    const position = await kubernetes.audit.mark()
    cluster.kubelets.script('w-1', { fastReboot: true })

    await stop()
    await powerOn()
    const second = bootIdOf(await untilNode('rebooted', (seen) => bootIdOf(seen) !== bootIdOf(before)))
    cluster.kubelets.reboot('w-1')
    await untilNode('rebooted again', (seen) => bootIdOf(seen) !== second)

    await kubernetes.audit.settled()
    const reports = (await kubernetes.audit.writes(position, 'kubelet')).filter(
      ({ resource }) => resource === 'nodes',
    )
    expect(reports.length).toBe(2)
    const { status } = await node()
    const ready = status.conditions.find((condition: { type: string }) => condition.type === 'Ready')
    const was = before.status.conditions.find((condition: { type: string }) => condition.type === 'Ready')
    expect(ready).toMatchObject({ status: 'True', lastTransitionTime: was.lastTransitionTime })
  })

  it('stays NotReady for a while after its boot', async () => {
    await start()
    const before = await node()
    cluster.kubelets.script('w-1', { notReadyMs: 300 })

    const told: string[] = []
    const watching = new AbortController()
    const watch = (async () => {
      const path = '/api/v1/nodes?fieldSelector=metadata.name%3Dw-1'
      for await (const { object } of kubernetes.api.watch(path, watching.signal))
        told.push(`${bootIdOf(object) === bootIdOf(before) ? 'before' : 'after'} ${readyOf(object)}`)
    })().catch(() => undefined)
    await waitUntil(() => told.length > 0, { for: 'the watch' })

    await stop()
    await powerOn()

    await waitUntil(() => told.includes('after True'), { for: 'Ready after the boot' })
    watching.abort()
    await watch
    expect(told.find((state) => state.startsWith('after'))).toBe('after False')
  })

  it('CKS-26 has a bigger disk and the same root file system', async () => {
    await start({ machine: { rootDiskGiB: 50 } })
    const before = await node()
    cluster.kubelets.script('w-1', { rootFsDoesNotGrow: true })
    await stop()
    cluster.cloud.act('w-1', { kind: 'growRootDisk', sizeGiB: 80 })
    await cluster.cloud.untilMachine('w-1', 'has 80 GiB', ({ operation }) => operation === null)
    await powerOn()

    const after = await untilNode('rebooted', (seen) => bootIdOf(seen) !== bootIdOf(before))

    expect(cluster.cloud.machine('w-1').rootDiskGiB).toBe(80)
    expect(after.status.capacity).toEqual(before.status.capacity)
  })

  it('B11 registers a new Node when its own was deleted while it was off', async () => {
    await start()
    const before = await node()
    await stop()

    await kubernetes.api.ok('DELETE', '/api/v1/nodes/w-1')
    await powerOn()

    const after = await untilNode('Ready', (seen) => readyOf(seen) === 'True')
    expect(after.metadata.uid).not.toBe(before.metadata.uid)
  })

  it('does not register again when told so', async () => {
    await start({ workers: 2 })
    cluster.kubelets.script('w-1', { doesNotRegister: true })
    await stop()
    await kubernetes.api.ok('DELETE', '/api/v1/nodes/w-1')

    await powerOn()
    await stop('w-2')
    await powerOn('w-2')
    await cluster.kubelets.untilReady(['w-2'])

    expect((await kubernetes.api.call('GET', '/api/v1/nodes/w-1')).status).toBe(404)
  })

  it('writes the time of its own clock', async () => {
    await start()
    cluster.kubelets.script('w-1', { clockAheadMs: 600_000, neverReady: true })

    const { status } = await untilNode('NotReady', (seen) => readyOf(seen) === 'False')

    const ready = status.conditions.find((condition: { type: string }) => condition.type === 'Ready')
    expect(Date.parse(ready.lastTransitionTime)).toBeGreaterThan(Date.now() + 500_000)
  })
})
