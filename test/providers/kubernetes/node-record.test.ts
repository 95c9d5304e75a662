import { describe, expect, it } from 'vitest'
import { MARK_KEYS } from '../../../src/core/marks.js'
import { NO_MARKS } from '../../../src/core/model.js'
import { kibibytes, nodeRecord, readNode } from '../../../src/providers/kubernetes/node-record.js'
import { nodeRecords, realFiles, realObjects } from './real-objects.js'

const DIGITAL_OCEAN = { controlPlane: false, ephemeralStorageKiB: 82_533_764 }

describe('real nodes', () => {
  it('are all in the table below', () => {
    expect(realFiles('node')).toEqual(TABLE.map(([file]) => file).sort())
  })

  const TABLE: [file: string, records: object[]][] = [
    [
      'aks-vmss-node.json',
      [
        {
          name: 'aks-nodepool1-11111111-vmss000000',
          providerId: expect.stringMatching(/^azure:\/\/\/subscriptions\/.*\/virtualMachines\/0$/),
          bootId: 'a70c371e-b4ce-452d-a3eb-c1d17bf8e17b',
          controlPlane: false,
          ephemeralStorageKiB: 129_900_528,
        },
      ],
    ],
    [
      'digitalocean-and-plain-nodes.json',
      [
        { name: 'dev-host-1', providerId: null, controlPlane: false },
        { name: 'biggernode-3i745', ephemeralStorageKiB: 103_176_100 },
        { name: 'pool-yd23sqk7u-3i7i7', providerId: 'digitalocean://900000980', ...DIGITAL_OCEAN },
        { name: 'pool-yd23sqk7u-3i7it', providerId: 'digitalocean://900001094', ...DIGITAL_OCEAN },
        { name: 'pool-yd23sqk7u-3i7v3', providerId: 'digitalocean://900001487', ...DIGITAL_OCEAN },
        { name: 'smallnode-3i74t' },
        {
          name: 'ip-10-134-21-92',
          providerId: null,
          bootId: '1d449fe8-89d3-411d-a92a-be8310a38c01',
          controlPlane: true,
        },
      ],
    ],
    ['k3s-1.31-nodes.json', [{ name: 'primary-node', providerId: 'k3s://primary-node', controlPlane: true }]],
    ['k3s-2025-nodes.json', [{ name: 'c9b7eea91', controlPlane: true, ephemeralStorageKiB: 51_527_500 }]],
    ['k3s-k3d-nodes.json', [{ name: 'k3d-mycluster-server-0', controlPlane: true }]],
    [
      'kubeadm-aws-1.8-nodes.json',
      [
        { controlPlane: false, ephemeralStorageKiB: null, bootId: 'e9fc73f3-6f5c-4e75-a345-20257e031fcd' },
        { controlPlane: false, ephemeralStorageKiB: null },
        { controlPlane: true, providerId: 'aws:///us-west-2a/i-f1e32aedd9816ca23' },
      ],
    ],
    [
      'kubeadm-kind-1.14-nodes.json',
      [{ providerId: null, controlPlane: true, bootId: 'ac368b27-af1f-4afb-a7ce-079d8d85c031' }],
    ],
    [
      'kubeadm-kind-nodes.json',
      [
        { name: 'kind-control-plane', ready: 'ready', bootId: null, controlPlane: true },
        { name: 'kind-worker', ready: 'notReady', bootId: null, controlPlane: false },
        { name: 'kind-worker2', ready: 'ready', bootId: null, controlPlane: false },
      ],
    ],
    [
      'openshift-aws-nodes.json',
      [true, false, true, false, true, false].map((controlPlane) => ({
        controlPlane,
        bootId: expect.stringMatching(/^[0-9a-f]{8}-/),
        ephemeralStorageKiB: 125_277_164,
      })),
    ],
    [
      'openshift-baremetal-nodes.json',
      [
        { name: 'master-0.cluster-b.example.com', providerId: null, bootId: null, controlPlane: true },
        { name: 'worker-0.cluster-b.example.com', providerId: null, bootId: null, controlPlane: false },
      ],
    ],
  ]

  it.each(TABLE)('are read as they are: %s', (file, expected) => {
    const unlessSaid = { unschedulable: false, marks: NO_MARKS, uid: expect.stringMatching(/./) }
    const said = expected.map((one) => ({ ready: 'ready', ...unlessSaid, ...one }))

    expect(nodeRecords(realObjects(file))).toMatchObject(said)
  })
})

describe('a node that lacks what it should have', () => {
  it('is unknown, not ready and not unready', () => {
    expect(nodeRecords([{ metadata: { name: 'bare' } }])).toEqual([
      {
        name: 'bare',
        uid: '',
        resourceVersion: '',
        providerId: null,
        labels: {},
        annotations: {},
        bootId: null,
        ready: 'unknown',
        unschedulable: false,
        controlPlane: false,
        ephemeralStorageKiB: null,
        busyWith: null,
        marks: NO_MARKS,
      },
    ])
  })

  it.each([
    ['the condition Ready is Unknown', { conditions: [{ type: 'Ready', status: 'Unknown' }] }],
    ['there is no condition Ready', { conditions: [{ type: 'DiskPressure', status: 'True' }] }],
    ['the conditions are null', { conditions: null }],
  ])('is unknown when %s', (_, status) => {
    expect(nodeRecords([{ metadata: { name: 'n' }, status }])).toMatchObject([{ ready: 'unknown' }])
  })

  it.each([
    ['Unknown', { ready: 'unknown', unknownSince: '2026-01-01T00:00:00Z' }],
    // Written by the node's own clock.
    ['False', { ready: 'notReady', unknownSince: undefined }],
  ])('B02 B10 says since when Ready is %s only where the node itself has not written it', (status, said) => {
    const conditions = [{ type: 'Ready', status, lastTransitionTime: '2026-01-01T00:00:00Z' }]

    const [record] = nodeRecords([{ metadata: { name: 'n' }, status: { conditions } }])

    expect({ unknownSince: undefined, ...record }).toMatchObject(said)
  })

  it('is refused, saying what is wrong, when it has no name', () => {
    expect(() => nodeRecords([{ metadata: {} }])).toThrow(
      /read the nodes: the answer cannot .* metadata\.name/,
    )
  })
})

it.each([
  [{ 'node-role.kubernetes.io/control-plane': '' }, true],
  [{ 'node-role.kubernetes.io/master': 'true' }, true],
  [{ 'node-role.kubernetes.io/controlplane': 'true' }, true],
  [{ 'kubernetes.io/role': 'master' }, true],
  [{ 'kubernetes.io/role': 'node' }, false],
  [{ 'node-role.kubernetes.io/worker': '' }, false],
])('labels %o say control plane: %s', (labels, expected) => {
  expect(nodeRecords([{ metadata: { name: 'n', labels } }])).toMatchObject([{ controlPlane: expected }])
})

it('marks and the schedulable flag are on the record', () => {
  const annotations = { [MARK_KEYS.bootId]: 'b1', [MARK_KEYS.failure]: 'not JSON' }
  const [record] = nodeRecords([{ metadata: { name: 'n', annotations }, spec: { unschedulable: true } }])

  expect(record).toMatchObject({
    unschedulable: true,
    marks: { ...NO_MARKS, bootId: 'b1', unreadable: [MARK_KEYS.failure] },
  })
})

it.each([
  ['101430960Ki', 101_430_960],
  ['100Gi', 104_857_600],
  ['1073741824', 1_048_576],
  [1024, 1],
  ['1.5Gi', 1_572_864],
  ['2e3', 1],
  ['1G', 976_562],
  ['2048000m', 2],
  ['', null],
  ['many', null],
  ['10Xi', null],
])('a quantity of %s is %s KiB', (quantity, expected) => {
  expect(kibibytes(quantity)).toBe(expected)
})

it.each<[string, { taints?: object[]; annotations?: Record<string, string> }, string | null]>([
  ['nothing', {}, null],
  [
    'the cluster autoscaler',
    { taints: [{ key: 'ToBeDeletedByClusterAutoscaler', value: '1', effect: 'NoSchedule' }] },
    'the cluster autoscaler (taint ToBeDeletedByClusterAutoscaler)',
  ],
  [
    'kured',
    { annotations: { 'weave.works/kured-reboot-in-progress': '2026-01-01T00:00:00Z' } },
    'kured (annotation weave.works/kured-reboot-in-progress)',
  ],
  [
    'the machine config operator while it works',
    { annotations: { 'machineconfiguration.openshift.io/state': 'Working' } },
    'the machine config operator (annotation machineconfiguration.openshift.io/state)',
  ],
  [
    'the machine config operator when it is done',
    { annotations: { 'machineconfiguration.openshift.io/state': 'Done' } },
    null,
  ],
])('CKS-12 the sign of %s says who takes a node down', (_, { taints = [], annotations = {} }, expected) => {
  const node = nodeRecord(
    readNode({ metadata: { name: 'n', uid: 'u', annotations }, spec: { taints } }),
    null,
  )

  expect(node.busyWith).toBe(expected)
})
