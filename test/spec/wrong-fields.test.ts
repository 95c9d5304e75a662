import { describe, expect, it } from 'vitest'
import { parseRollout, sayProblems } from '../../src/spec/parse.js'
import { ETCD, ofGpu, ofWorker, problemsOf, request, specOf, wrongIn } from './requests.js'

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
