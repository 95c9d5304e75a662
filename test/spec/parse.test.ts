import { describe, expect, it } from 'vitest'
import { DRAIN_POLICY } from '../support/builders.js'
import { request, specOf } from './requests.js'

describe('a request with every default filled in', () => {
  it('CKS-02 stores settings only, unless it asks for more', () => {
    expect(specOf(request())).toEqual({
      target: {
        cluster: 'prod-eu',
        kubernetes: {
          kind: 'kubeconfig',
          path: null,
          context: 'prod-eu',
          endpoints: [],
          namespace: 'kube-system',
        },
        machines: { provider: 'simulated', options: {} },
        etcd: null,
      },
      pools: [
        {
          name: 'worker',
          type: 'worker',
          select: null,
          asked: { offerings: ['large'], rootDiskGiB: null, affinityGroups: null },
          maxUnavailable: { count: 1 },
        },
      ],
      rollout: false,
      startStopped: true,
      selfHosted: false,
      tolerateUnready: 0,
      drain: DRAIN_POLICY,
      limits: {
        batchSeconds: 1800,
        changeReserveSeconds: 600,
        preflightSeconds: 600,
        machineSeconds: 900,
        verifySeconds: 900,
        settleSeconds: 5,
        waitsForCriticalPods: true,
        releaseSeconds: 86_400,
      },
    })
  })

  it('CKS-01 takes every field that there is', () => {
    const spec = specOf({
      cluster: 'prod-eu',
      kubernetes: {
        context: 'prod-eu',
        kubeconfig: '/etc/kubeconfig',
        endpoints: ['https://10.0.0.2:6443'],
        namespace: 'noderoll',
      },
      machines: { provider: 'azure-vm', subscriptionId: 's', retries: 3, spot: false, zones: ['1', '2'] },
      etcd: { provider: 'stacked', port: 2379 },
      pools: {
        etcd: { select: { machines: ['e-1', 'e-2', 'e-3'] }, rootDiskGiB: 64 },
        control: { offering: 'Standard_D4s_v5' },
        worker: {
          select: { labels: { pool: 'general' } },
          offering: ['Standard_D8s_v5', 'Standard_D8as_v5'],
          rootDiskGiB: 256,
          affinityGroups: ['ppg-a'],
          maxUnavailable: '25%',
        },
        gpu: { type: 'worker', select: { labels: { pool: 'gpu' } }, maxUnavailable: 2 },
      },
      rollout: true,
      startStopped: false,
      selfHosted: true,
      drain: {
        timeout: '10m',
        gracePeriod: '30s',
        barePods: 'evict',
        emptyDir: 'refuse',
        parallelEvictions: 5,
        order: [{ matchLabels: { tier: 'web' } }, 'rest', { namespace: 'db' }],
        skip: [{ matchExpressions: [{ key: 'stay', operator: 'Exists' }] }],
        waitCompleted: [{ namespace: 'batch', matchLabels: { kind: 'job' } }],
        skipWaitForDelete: '2m',
        unreachableWait: '1m',
        volumes: 'ignore',
        loadBalancerSettle: '10s',
        onBlocked: 'force',
        quarantineLimit: 2,
        force: { drainOlderThan: '5m', lastForcedOlderThan: '2m', podOlderThan: '1h' },
      },
      preflight: { timeout: '1h', tolerateUnready: 1 },
      verify: { timeout: 120, settle: 0, criticalPods: 'ignore' },
      batchTimeout: '45m',
      changeReserve: '15m',
      machineTimeout: '20m',
      releaseTimeout: '6h',
    })

    expect(spec).toEqual({
      target: {
        cluster: 'prod-eu',
        kubernetes: {
          kind: 'kubeconfig',
          path: '/etc/kubeconfig',
          context: 'prod-eu',
          endpoints: ['https://10.0.0.2:6443'],
          namespace: 'noderoll',
        },
        machines: {
          provider: 'azure-vm',
          options: { subscriptionId: 's', retries: 3, spot: false, zones: ['1', '2'] },
        },
        etcd: { provider: 'stacked', options: { port: 2379 } },
      },
      pools: [
        {
          name: 'etcd',
          type: 'etcd',
          select: { kind: 'machines', names: ['e-1', 'e-2', 'e-3'] },
          asked: { offerings: null, rootDiskGiB: 64, affinityGroups: null },
          maxUnavailable: { count: 1 },
        },
        {
          name: 'control',
          type: 'control',
          select: null,
          asked: { offerings: ['Standard_D4s_v5'], rootDiskGiB: null, affinityGroups: null },
          maxUnavailable: { count: 1 },
        },
        {
          name: 'worker',
          type: 'worker',
          select: { kind: 'labels', labels: { pool: 'general' } },
          asked: {
            offerings: ['Standard_D8s_v5', 'Standard_D8as_v5'],
            rootDiskGiB: 256,
            affinityGroups: ['ppg-a'],
          },
          maxUnavailable: { percent: 25 },
        },
        {
          name: 'gpu',
          type: 'worker',
          select: { kind: 'labels', labels: { pool: 'gpu' } },
          asked: { offerings: null, rootDiskGiB: null, affinityGroups: null },
          maxUnavailable: { count: 2 },
        },
      ],
      rollout: true,
      startStopped: false,
      selfHosted: true,
      tolerateUnready: 1,
      drain: {
        timeoutSeconds: 600,
        gracePeriodSeconds: 30,
        barePods: 'evict',
        emptyDir: 'refuse',
        parallelEvictions: 5,
        order: {
          by: 'selectors',
          groups: [
            { namespace: null, matchLabels: { tier: 'web' }, matchExpressions: [] },
            'rest',
            { namespace: 'db', matchLabels: {}, matchExpressions: [] },
          ],
        },
        skip: [
          {
            namespace: null,
            matchLabels: {},
            matchExpressions: [{ key: 'stay', operator: 'Exists', values: [] }],
          },
        ],
        waitCompleted: [{ namespace: 'batch', matchLabels: { kind: 'job' }, matchExpressions: [] }],
        skipWaitForDeleteSeconds: 120,
        unreachableWaitSeconds: 60,
        volumes: 'ignore',
        loadBalancerSettleSeconds: 10,
        onBlocked: 'force',
        quarantineLimit: 2,
        force: {
          drainOlderThanSeconds: 300,
          lastForcedOlderThanSeconds: 120,
          podOlderThanSeconds: 3600,
        },
      },
      limits: {
        batchSeconds: 2700,
        changeReserveSeconds: 900,
        preflightSeconds: 3600,
        machineSeconds: 1200,
        verifySeconds: 120,
        settleSeconds: 0,
        waitsForCriticalPods: false,
        releaseSeconds: 21_600,
      },
    })
  })

  it('CKS-08 keeps the pools in the order of the spec', () => {
    const gpu = { type: 'worker', select: { labels: { pool: 'gpu' } } }
    const worker = { select: { labels: { pool: 'general' } } }

    expect(specOf(request({ pools: { gpu, worker } })).pools.map(({ name }) => name)).toEqual([
      'gpu',
      'worker',
    ])
    expect(specOf(request({ pools: { worker, gpu } })).pools.map(({ name }) => name)).toEqual([
      'worker',
      'gpu',
    ])
  })

  it('CKS-01 may name no pool at all', () => {
    expect(specOf(request({ pools: undefined, rollout: true })).pools).toEqual([])
  })

  it.each([
    ['a context', { context: 'c' }, { kind: 'kubeconfig', path: null, context: 'c' }],
    ['a kubeconfig of the worker', { kubeconfig: '/k' }, { kind: 'kubeconfig', path: '/k', context: null }],
    ['the worker’s own cluster', { inCluster: true }, { kind: 'inCluster' }],
  ])('B35 reaches the cluster by %s, and by other API servers of it', (_, kubernetes, expected) => {
    const endpoints = ['https://a.example', 'https://b.example:6443']

    expect(specOf(request({ kubernetes: { ...kubernetes, endpoints } })).target.kubernetes).toEqual({
      ...expected,
      endpoints,
      namespace: 'kube-system',
    })
  })
})
