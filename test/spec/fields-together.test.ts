import { describe, expect, it } from 'vitest'
import { parseRollout, parseTarget, sayProblems } from '../../src/spec/parse.js'
import { accepted, ETCD, ofGpu, ofWorker, problemsOf, type Request, request, wrongIn } from './requests.js'

describe('fields that do not exist', () => {
  it.each<[string, Request, string[]]>([
    ['at the top', request({ pool: {}, rootDisk: 80 }), ['pool', 'rootDisk']],
    ['of a pool', ofWorker({ ofering: 'large' }), ['pools.worker.ofering']],
    ['of a selector', ofGpu({ select: { labels: { a: 'b' }, names: [] } }), ['pools.gpu.select.names']],
    ['of the drain', request({ drain: { pretend: true } }), ['drain.pretend']],
    ['of the preflight', request({ preflight: { tolerate: 1 } }), ['preflight.tolerate']],
    ['of the verify', request({ verify: { stable: 1 } }), ['verify.stable']],
    [
      'of the access to the cluster, a secret for instance',
      request({ kubernetes: { context: 'c', token: 's3cret' } }),
      ['kubernetes.token'],
    ],
  ])('CKS-01 are named, never ignored: %s', (_, given, expected) => {
    expect(problemsOf(parseRollout(given))).toEqual(
      expected.map((where) => ({
        where,
        what: 'is no field of a spec',
        fix: 'remove it or correct its name',
      })),
    )
  })

  it('CKS-01 are named without their values: a spec is no place for a secret, and a failure neither', () => {
    const given = request({ kubernetes: { context: 'c', token: 's3cret' } })

    expect(sayProblems(problemsOf(parseRollout(given)))).not.toContain('s3cret')
  })
})

describe('fields that do not go together', () => {
  const select = { labels: { pool: 'gpu' } }

  it.each<[string, Request, string[]]>([
    [
      'CKS-00 a pool with a name of its own says its type',
      request({ pools: { gpu: { select } } }),
      ['pools.gpu.type: is missing; write control, worker or etcd'],
    ],
    [
      'CKS-00 a pool called control is no worker pool',
      request({ pools: { control: { type: 'worker' } }, etcd: ETCD }),
      ['pools.control.type: is worker, but the pool is called control; rename the pool or drop the type'],
    ],
    [
      'CKS-00 a worker pool with a name of its own selects its nodes',
      request({ pools: { gpu: { type: 'worker' } } }),
      ['pools.gpu.select: is missing; say by which labels its nodes are found'],
    ],
    [
      'CKS-00 worker without a selector is the sole worker pool',
      request({ pools: { worker: {}, gpu: { type: 'worker', select } } }),
      [
        'pools.worker.select: is missing, and there are other worker pools; say by which labels its nodes are found',
      ],
    ],
    [
      'CKS-00 an etcd pool names its machines',
      request({ pools: { etcd: { select } }, etcd: ETCD }),
      ['pools.etcd.select.machines: is missing; name the etcd machines: they have no Node to select by'],
    ],
    [
      'CKS-00 other pools do not',
      request({ pools: { worker: { select: { machines: ['w-1'] } } } }),
      ['pools.worker.select.machines: is for etcd pools; select nodes by labels'],
    ],
    [
      'CKS-13 control nodes need an etcd to ask',
      request({ pools: { control: {} } }),
      ['etcd: is missing, and pool control is a control pool; say how to ask etcd'],
    ],
    [
      'CKS-13 etcd machines need an etcd to ask',
      request({ pools: { etcd: { select: { machines: ['e-1'] } } } }),
      ['etcd: is missing, and pool etcd is a etcd pool; say how to ask etcd'],
    ],
    [
      'CKS-19 drain and reserve together exceed the batch',
      request({ batchTimeout: '20m' }),
      [
        'batchTimeout: 1200 s is less than drain.timeout (900 s) and changeReserve (600 s) together; write at least 1500s, or shorten the others',
      ],
    ],
    ['CKS-19 drain and reserve together are the batch', request({ batchTimeout: '25m' }), []],
    [
      'CKS-00 a second control pool, by labels',
      request({ pools: { masters: { type: 'control', select } }, etcd: ETCD }),
      [],
    ],
    ['CKS-00 the type may be repeated', request({ pools: { worker: { type: 'worker' } } }), []],
  ])('%s', (_, given, expected) => {
    const said = problemsOf(parseRollout(given)).map(({ where, what, fix }) => `${where}: ${what}; ${fix}`)

    expect(said).toEqual(expected)
  })

  it('CKS-19 everything that is wrong is named at once', () => {
    const given = request({
      pools: { gpu: { type: 'worker', maxUnavailable: 2 }, control: { maxUnavailable: 1 } },
      batchTimeout: '10m',
    })

    expect(wrongIn(given)).toEqual([
      'pools.gpu.select',
      'pools.gpu.maxUnavailable',
      'pools.control.maxUnavailable',
      'pools.control.maxUnavailable',
      'etcd',
      'batchTimeout',
    ])
  })

  it('CKS-01 single fields that are wrong are named at once, too', () => {
    const given = request({
      cluster: 'Prod',
      kubernetes: { context: '' },
      machines: {},
      pools: { worker: { offering: [], rootDiskGiB: 0 } },
      drain: { timeout: 'soon', force: true },
      batchTimeout: 0,
    })

    expect(wrongIn(given).sort()).toEqual([
      'batchTimeout',
      'cluster',
      'drain.force',
      'drain.timeout',
      'kubernetes.context',
      'machines.provider',
      'pools.worker.offering',
      'pools.worker.rootDiskGiB',
    ])
  })

  it('CKS-01 a field that is wrong hides no fields that do not go together', () => {
    const given = request({ pools: { gpu: { type: 'worker' } }, rootDisk: 80 })

    expect(wrongIn(given).sort()).toEqual(['pools.gpu.select', 'rootDisk'])
  })
})

describe('the request of releaseCluster and clusterStatus', () => {
  const target = { cluster: 'prod-eu', kubernetes: { inCluster: true }, machines: { provider: 'simulated' } }

  it.each([
    ['nothing but the cluster', {}, { takeOver: null, page: 0 }],
    ['whom to take over from', { takeOver: 's/n/w/r' }, { takeOver: 's/n/w/r', page: 0 }],
    ['a later page', { page: 2 }, { takeOver: null, page: 2 }],
  ])('CKS-06 says %s', (_, more, expected) => {
    expect(accepted(parseTarget({ ...target, ...more }))).toEqual({
      target: {
        cluster: 'prod-eu',
        kubernetes: { kind: 'inCluster', endpoints: [], namespace: 'kube-system' },
        machines: { provider: 'simulated', options: {} },
        etcd: null,
      },
      ...expected,
    })
  })

  it.each<[string, Request, string[]]>([
    ['nobody to take over from', { takeOver: '' }, ['takeOver']],
    ['a page before the first', { page: -1 }, ['page']],
    ['pools, which are for a rollout', { pools: {} }, ['pools']],
    ['no cluster', { cluster: undefined }, ['cluster']],
  ])('CKS-23 is wrong with %s', (_, more, expected) => {
    expect(problemsOf(parseTarget({ ...target, ...more })).map((problem) => problem.where)).toEqual(expected)
  })
})

describe('problems in a sentence', () => {
  it('have place, what and what to do; without the last where there is nothing to add', () => {
    const problems = [
      { where: 'a', what: 'is missing', fix: 'write it' },
      { where: 'b', what: 'is wrong', fix: '' },
    ]

    expect(sayProblems(problems)).toBe('a: is missing; write it. b: is wrong')
  })
})
