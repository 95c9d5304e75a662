import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import type { ControlPlanePod } from '../../../src/ports/cluster.js'
import { PortError } from '../../../src/ports/errors.js'
import { apiServerPods, memberPods, metricsPods } from '../../../src/providers/etcd/addresses.js'
import { controlPlanePod } from '../../../src/providers/kubernetes/control-plane-pod.js'

const QUIET = AbortSignal.timeout(600_000)
const CLIENTS = { 'kubeadm.kubernetes.io/etcd.advertise-client-urls': 'https://10.0.0.1:2379' }

function aPod(changes: Partial<ControlPlanePod> = {}): ControlPlanePod {
  return {
    name: 'etcd-cp-1',
    node: 'cp-1',
    component: 'etcd',
    annotations: {},
    command: ['etcd'],
    ...changes,
  }
}

function withPods(...pods: ControlPlanePod[]) {
  return { controlPlanePods: async () => pods }
}

describe('members by their static pods', () => {
  it.each([
    ['kubeadm’s note', { annotations: CLIENTS }, 'https://10.0.0.1:2379'],
    [
      'the first of several',
      {
        annotations: {
          ...CLIENTS,
          'kubeadm.kubernetes.io/etcd.advertise-client-urls': 'https://10.0.0.1:2379/,https://10.0.0.2:2379',
        },
      },
      'https://10.0.0.1:2379',
    ],
    [
      'its own argument without a note',
      { command: ['etcd', '--advertise-client-urls=https://10.0.0.9:2379'] },
      'https://10.0.0.9:2379',
    ],
  ])('CKS-13 are at %s', async (_, pod, url) => {
    expect(await memberPods(withPods(aPod(pod)))(QUIET)).toEqual({ answer: [{ name: 'cp-1', url }] })
  })

  it.each([
    ['an address of its node', 'http://127.0.0.1:2381,http://10.0.0.1:2381', 'http://10.0.0.1:2381'],
    ['every address, so that of its clients', 'http://0.0.0.0:2381', 'http://10.0.0.1:2381'],
    ['every IPv6 address, so that of its clients', 'http://[::]:2381', 'http://10.0.0.1:2381'],
  ])('CKS-13 serve their metrics at %s', async (_, served, url) => {
    const pod = aPod({ annotations: CLIENTS, command: ['etcd', `--listen-metrics-urls=${served}`] })

    expect(await metricsPods(withPods(pod))(QUIET)).toEqual({ answer: [{ name: 'cp-1', url }] })
  })

  it.each(['http://127.0.0.1:2381', 'http://localhost:2381', 'http://[::1]:2381', 'nonsense', ''])(
    'CKS-13 whose metrics are for their own node only (%j) are unknown, and the field that helps is named',
    async (served) => {
      const pod = aPod({ annotations: CLIENTS, command: ['etcd', `--listen-metrics-urls=${served}`] })

      expect(await metricsPods(withPods(pod))(QUIET)).toEqual({
        why: 'static pod etcd-cp-1 serves its metrics to its own node only (listen-metrics-urls); name its address in etcd.members',
      })
    },
  )

  it('CKS-13 are all unknown while one of them does not say where it is: a member left out would flatter the quorum', async () => {
    const pods = withPods(aPod({ annotations: CLIENTS }), aPod({ name: 'etcd-cp-2', node: 'cp-2' }))

    expect(await memberPods(pods)(QUIET)).toEqual({
      why: 'static pod etcd-cp-2 does not say its client URL; name its address in etcd.members',
    })
  })

  it('CKS-13 are unknown where there are none, and while they cannot be read', async () => {
    const away = {
      controlPlanePods: () => Promise.reject(new PortError('unreachable', 'the API server does not answer')),
    }

    expect(await memberPods(withPods())(QUIET)).toEqual({
      why: 'kube-system has no static pods of etcd like those of kubeadm; write etcd.members',
    })
    expect(await memberPods(away)(QUIET)).toEqual({ why: 'the API server does not answer' })
  })

  it('CKS-18 API servers are where kubeadm notes it, on a real kubeadm cluster’s pods', async () => {
    const file = new URL('../../fixtures/real-objects/kubeadm-kind-pods.json', import.meta.url)
    const { items } = JSON.parse(await readFile(file, 'utf8')) as { items: unknown[] }
    const real = withPods(...items.flatMap(controlPlanePod))

    expect(await memberPods(real)(QUIET)).toEqual({
      answer: [{ name: 'kind-control-plane', url: 'https://10.151.0.4:2379' }],
    })
    expect(await apiServerPods(real)(QUIET)).toEqual({
      answer: [{ name: 'kind-control-plane', url: 'https://10.151.0.4:6443' }],
    })
    expect(await metricsPods(real)(QUIET)).toMatchObject({
      why: expect.stringContaining('etcd-kind-control-plane'),
    })
  })
})
