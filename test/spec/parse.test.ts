import { describe, expect, it } from 'vitest'
import type { Problem } from '../../src/core/model.js'
import type { RolloutSpec } from '../../src/core/spec.js'
import { type Parsed, parseRollout, parseTarget, sayProblems } from '../../src/spec/parse.js'
import { DRAIN_POLICY } from '../support/builders.js'

type Request = Record<string, unknown>

/** A good request, with these fields instead of its own. */
function request(overrides: Request = {}): Request {
  return {
    cluster: 'prod-eu',
    kubernetes: { context: 'prod-eu' },
    machines: { provider: 'simulated' },
    pools: { worker: { offering: 'large' } },
    ...overrides,
  }
}

const ETCD = { provider: 'simulated' }
const ofWorker = (pool: Request, more: Request = {}) => request({ pools: { worker: pool }, ...more })
const ofGpu = (pool: Request, more: Request = {}) =>
  request({ pools: { gpu: { type: 'worker', select: { labels: { pool: 'gpu' } }, ...pool } }, ...more })

function problemsOf<T>(parsed: Parsed<T>): readonly Problem[] {
  return parsed.ok ? [] : parsed.problems
}

function accepted<T>(parsed: Parsed<T>): T {
  if (!parsed.ok) throw new Error(sayProblems(parsed.problems))
  return parsed.value
}

function specOf(given: Request): RolloutSpec {
  return accepted(parseRollout(given))
}

function wrongIn(given: unknown): string[] {
  return problemsOf(parseRollout(given)).map((problem) => problem.where)
}

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

describe('durations', () => {
  it.each<[string, unknown, number]>([
    ['a number of seconds', 90, 90],
    ['seconds', '90s', 90],
    ['minutes', '15m', 900],
    ['hours', '6h', 21_600],
    ['days', '2d', 172_800],
    ['a part of an hour', '1.5h', 5400],
    ['a space before the unit', '15 m', 900],
    ['milliseconds, when they are a second', '1000ms', 1],
    ['the least', '1s', 1],
  ])('CKS-19 %s', (_, written, seconds) => {
    expect(specOf(request({ preflight: { timeout: written } })).limits.preflightSeconds).toBe(seconds)
  })

  it.each<[string, unknown, string]>([
    ['words', 'soon', '"soon" is no duration; write 90s, 15m or 6h'],
    ['two of them', '1h30m', '"1h30m" is no duration; write 90s, 15m or 6h'],
    ['nothing', '', '"" is no duration; write 90s, 15m or 6h'],
    ['blanks', '  ', '"  " is no duration; write 90s, 15m or 6h'],
    ['a text without a unit, which could be anything', '5000', '"5000" is no duration; write 90s, 15m or 6h'],
    ['true', true, 'expected a duration such as 90s, 15m or 6h'],
    ['null', null, 'expected a duration such as 90s, 15m or 6h'],
    ['a list', ['15m'], 'expected a duration such as 90s, 15m or 6h'],
    ['endless', Number.POSITIVE_INFINITY, 'expected a duration such as 90s, 15m or 6h'],
    ['zero', 0, 'must be at least 1 s'],
    ['half a second', '500ms', 'must be at least 1 s'],
    ['less than nothing', '-5m', 'must be at least 1 s'],
  ])('CKS-19 are not: %s', (_, written, what) => {
    expect(problemsOf(parseRollout(request({ preflight: { timeout: written } })))).toEqual([
      { where: 'preflight.timeout', what, fix: '' },
    ])
  })

  it.each(['verify.settle', 'drain.gracePeriod'])(
    'CKS-18 may be zero where nothing waits for it: %s',
    (path) => {
      const [group = '', field = ''] = path.split('.')

      expect(wrongIn(request({ [group]: { [field]: 0 } }))).toEqual([])
      expect(wrongIn(request({ [group]: { [field]: '-1s' } }))).toEqual([path])
    },
  )

  it('CKS-16 a grace period has whole seconds: the API server takes no others', () => {
    expect(wrongIn(request({ drain: { gracePeriod: '1500ms' } }))).toEqual(['drain.gracePeriod'])
  })
})

describe('maxUnavailable', () => {
  it.each<[string, unknown, unknown]>([
    ['one', 1, { count: 1 }],
    ['many', 80, { count: 80 }],
    ['one per cent', '1%', { percent: 1 }],
    ['a quarter', '25%', { percent: 25 }],
    ['all', '100%', { percent: 100 }],
  ])('CKS-09 is an integer or a percentage: %s', (_, written, expected) => {
    const spec = specOf(ofWorker({ maxUnavailable: written }, { rollout: true }))

    expect(spec.pools.map((pool) => pool.maxUnavailable)).toEqual([expected])
  })

  it.each<[unknown]>([
    [0],
    [-1],
    [1.5],
    ['2'],
    ['0%'],
    ['101%'],
    ['-5%'],
    ['5.5%'],
    ['1000%'],
    ['25 %'],
    ['half'],
    [''],
    [true],
    [null],
    [[2]],
    [{ count: 2 }],
  ])('CKS-09 is not %j', (written) => {
    expect(wrongIn(ofWorker({ maxUnavailable: written }, { rollout: true }))).toEqual([
      'pools.worker.maxUnavailable',
    ])
  })

  it('CKS-02 with rollout: false means nothing and is refused', () => {
    expect(problemsOf(parseRollout(ofWorker({ maxUnavailable: 2 })))).toEqual([
      {
        where: 'pools.worker.maxUnavailable',
        what: 'means nothing with rollout: false',
        fix: 'remove it, or ask for rollout: true',
      },
    ])
  })

  it.each([
    ['control', {}],
    ['etcd', { select: { machines: ['e-1'] } }],
  ])('CKS-09 is for workers, not for %s', (name, pool) => {
    const given = request({ pools: { [name]: { ...pool, maxUnavailable: 2 } }, etcd: ETCD, rollout: true })

    expect(wrongIn(given)).toEqual([`pools.${name}.maxUnavailable`])
  })
})

describe('every field’s mistake is named by its place', () => {
  it.each<[string, unknown, string[]]>([
    ['no object', 7, ['spec']],
    ['nothing', null, ['spec']],
    ['a list', [], ['spec']],
    ['an empty spec', {}, ['cluster', 'kubernetes', 'machines']],
    ['a name with capitals', request({ cluster: 'Prod' }), ['cluster']],
    ['a name with a slash', request({ cluster: 'prod/eu' }), ['cluster']],
    ['a name that is too long', request({ cluster: 'x'.repeat(64) }), ['cluster']],
    ['a name that is empty', request({ cluster: '' }), ['cluster']],
    ['a name that is a number', request({ cluster: 7 }), ['cluster']],
    ['no way to the cluster', request({ kubernetes: {} }), ['kubernetes']],
    ['two ways to the cluster', request({ kubernetes: { inCluster: true, context: 'c' } }), ['kubernetes']],
    ['two other ways', request({ kubernetes: { inCluster: true, kubeconfig: '/k' } }), ['kubernetes']],
    ['inCluster: false', request({ kubernetes: { inCluster: false } }), ['kubernetes.inCluster']],
    ['an empty context', request({ kubernetes: { context: '' } }), ['kubernetes.context']],
    ['an empty kubeconfig', request({ kubernetes: { kubeconfig: '' } }), ['kubernetes.kubeconfig']],
    [
      'an endpoint that is no address',
      request({ kubernetes: { context: 'c', endpoints: ['nowhere'] } }),
      ['kubernetes.endpoints.0'],
    ],
    [
      'an endpoint without encryption',
      request({ kubernetes: { context: 'c', endpoints: ['https://a', 'http://b'] } }),
      ['kubernetes.endpoints.1'],
    ],
    [
      'an empty namespace',
      request({ kubernetes: { context: 'c', namespace: '' } }),
      ['kubernetes.namespace'],
    ],
    ['machines of nobody', request({ machines: {} }), ['machines.provider']],
    ['machines of an empty provider', request({ machines: { provider: '' } }), ['machines.provider']],
    [
      'an option that is an object',
      request({ machines: { provider: 'x', login: { user: 'u' } } }),
      ['machines.login'],
    ],
    ['an option that is null', request({ machines: { provider: 'x', zone: null } }), ['machines.zone']],
    ['an etcd without a provider', request({ etcd: {} }), ['etcd.provider']],
    ['pools in a list', request({ pools: [] }), ['pools']],
    ['a pool that is no object', request({ pools: { worker: 'large' } }), ['pools.worker']],
    ['a type that does not exist', ofGpu({ type: 'gpu' }), ['pools.gpu.type']],
    ['a selector of nothing', ofGpu({ select: {} }), ['pools.gpu.select']],
    [
      'a selector of two kinds',
      ofGpu({ select: { labels: { a: 'b' }, machines: ['m'] } }),
      ['pools.gpu.select'],
    ],
    ['a selector of a number', ofGpu({ select: { labels: { a: 1 } } }), ['pools.gpu.select.labels.a']],
    [
      'a selector of no labels, which would be every node',
      ofGpu({ select: { labels: {} } }),
      ['pools.gpu.select.labels'],
    ],
    [
      'a selector of no machines',
      request({ pools: { etcd: { select: { machines: [] } } }, etcd: ETCD }),
      ['pools.etcd.select.machines'],
    ],
    ['an empty offering', ofWorker({ offering: '' }), ['pools.worker.offering']],
    ['an empty list of offerings', ofWorker({ offering: [] }), ['pools.worker.offering']],
    ['an offering that is a number', ofWorker({ offering: 4 }), ['pools.worker.offering']],
    ['an empty offering in a list', ofWorker({ offering: ['a', ''] }), ['pools.worker.offering.1']],
    ['a disk of nothing', ofWorker({ rootDiskGiB: 0 }), ['pools.worker.rootDiskGiB']],
    ['a disk of half a GiB', ofWorker({ rootDiskGiB: 80.5 }), ['pools.worker.rootDiskGiB']],
    ['a disk in words', ofWorker({ rootDiskGiB: '80' }), ['pools.worker.rootDiskGiB']],
    ['groups that are no list', ofWorker({ affinityGroups: 'a' }), ['pools.worker.affinityGroups']],
    ['an empty group', ofWorker({ affinityGroups: [''] }), ['pools.worker.affinityGroups.0']],
    ['a group named twice', ofWorker({ affinityGroups: ['a', 'b', 'a'] }), ['pools.worker.affinityGroups']],
    ['rollout in words', request({ rollout: 'yes' }), ['rollout']],
    ['startStopped in numbers', request({ startStopped: 1 }), ['startStopped']],
    ['bare pods', request({ drain: { barePods: 'delete' } }), ['drain.barePods']],
    ['data in emptyDir', request({ drain: { emptyDir: 'evict' } }), ['drain.emptyDir']],
    [
      'an order nobody knows, a selector of everything, In without values',
      request({
        drain: {
          order: ['together'],
          skip: [{}],
          waitCompleted: [{ matchExpressions: [{ key: 'a', operator: 'In' }] }],
        },
      }),
      ['drain.order', 'drain.skip.0', 'drain.waitCompleted.0.matchExpressions.0'],
    ],
    [
      'a force that could never come',
      request({ drain: { timeout: '5m', onBlocked: 'force' } }),
      ['drain.force.drainOlderThan'],
    ],
    ['no eviction at a time', request({ drain: { parallelEvictions: 0 } }), ['drain.parallelEvictions']],
    [
      'too many evictions at a time',
      request({ drain: { parallelEvictions: 201 } }),
      ['drain.parallelEvictions'],
    ],
    ['a drain without end', request({ drain: { timeout: 'never' } }), ['drain.timeout']],
    [
      'fewer than no unready nodes',
      request({ preflight: { tolerateUnready: -1 } }),
      ['preflight.tolerateUnready'],
    ],
    ['half an unready node', request({ preflight: { tolerateUnready: 0.5 } }), ['preflight.tolerateUnready']],
    ['a verify without end', request({ verify: { timeout: 'never' } }), ['verify.timeout']],
    ['a batch without end', request({ batchTimeout: 'never' }), ['batchTimeout']],
    ['a reserve of nothing', request({ changeReserve: 0 }), ['changeReserve']],
    ['a machine step of nothing', request({ machineTimeout: 0 }), ['machineTimeout']],
    ['a release of nothing', request({ releaseTimeout: 0 }), ['releaseTimeout']],
  ])('CKS-01 %s', (_, given, expected) => {
    expect(wrongIn(given)).toEqual(expected)
  })

  it('CKS-01 says what to write instead: an endpoint is an https address', () => {
    const given = request({ kubernetes: { context: 'c', endpoints: ['http://b'] } })

    expect(sayProblems(problemsOf(parseRollout(given)))).toContain('https')
  })
})

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
