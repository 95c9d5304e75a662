import { describe, expect, it } from 'vitest'
import { whoseTurn } from '../../src/core/drain/order.js'
import type { PodRecord } from '../../src/core/pods.js'
import type { EvictionOrder, PodSelector } from '../../src/core/spec.js'
import { aPod } from '../support/builders.js'

const NODE_CRITICAL = { priorityClass: 'system-node-critical', priority: 2_000_001_000 }

/** The names of the pods in groups, each after those before it are gone. */
function groupsOf(pods: readonly PodRecord[], order: EvictionOrder): string[] {
  let left = pods.map((pod) => ({ pod }))
  const groups: string[] = []
  while (left.length > 0) {
    const turn = whoseTurn(left, order)
    groups.push(turn.map(({ pod }) => pod.name).join(' '))
    left = left.filter((one) => !turn.includes(one))
  }
  return groups
}

function labelled(app: string): PodSelector {
  return { namespace: null, matchLabels: { app }, matchExpressions: [] }
}

const WEB = aPod({ name: 'web', labels: { app: 'web' } })
const DB = aPod({ name: 'db', labels: { app: 'db' }, priority: 500 })
const DNS = aPod({ name: 'dns', namespace: 'kube-system', ...NODE_CRITICAL })
const PODS = [DNS, WEB, DB]

describe('the order in which pods go', () => {
  it.each<[string, EvictionOrder, string[]]>([
    ['all together', { by: 'together' }, ['dns web db']],
    ['critical ones last (KARPENTER-06, without its DaemonSets)', { by: 'criticalLast' }, ['web db', 'dns']],
    ['lowest priority first', { by: 'priority' }, ['web', 'db', 'dns']],
    [
      'by selectors, the rest at the end',
      { by: 'selectors', groups: [labelled('db'), labelled('web')] },
      ['db', 'web', 'dns'],
    ],
    [
      'by selectors, the rest where the spec says',
      { by: 'selectors', groups: [labelled('web'), 'rest', labelled('db')] },
      ['web', 'dns', 'db'],
    ],
    [
      'by the first selector that matches',
      {
        by: 'selectors',
        groups: [{ ...labelled('web'), matchLabels: {}, namespace: 'shop' }, labelled('db')],
      },
      ['web db', 'dns'],
    ],
  ])('CKS-16 %s', (_, order, expected) => {
    expect(groupsOf(PODS, order)).toEqual(expected)
  })

  it.each<[string, Partial<PodRecord>]>([
    ['of the class of the cluster', { priorityClass: 'system-cluster-critical' }],
    ['of the class of the nodes', { priorityClass: 'system-node-critical' }],
    ['of a priority that only the system has', { priority: 2_000_000_000 }],
  ])('CKS-16 critical is what is %s', (_, pod) => {
    const other = aPod({ name: 'other', priority: 1_999_999_999 })

    expect(groupsOf([aPod({ name: 'critical', ...pod }), other], { by: 'criticalLast' })).toEqual([
      'other',
      'critical',
    ])
  })

  it.each<[string, PodSelector['matchExpressions'][number], string[]]>([
    ['In', { key: 'app', operator: 'In', values: ['web', 'x'] }, ['web', 'dns db']],
    [
      'NotIn, which also selects what has no such label',
      { key: 'app', operator: 'NotIn', values: ['db'] },
      ['dns web', 'db'],
    ],
    ['Exists', { key: 'app', operator: 'Exists', values: [] }, ['web db', 'dns']],
    ['DoesNotExist', { key: 'app', operator: 'DoesNotExist', values: [] }, ['dns', 'web db']],
  ])('CKS-16 selects by %s', (_, expression, expected) => {
    const selector = { namespace: null, matchLabels: {}, matchExpressions: [expression] }

    expect(groupsOf(PODS, { by: 'selectors', groups: [selector] })).toEqual(expected)
  })
})
