import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { batchNodeName } from '../../src/core/batch.js'
import {
  isHopeless,
  nodesUnder,
  selectsPod,
  withoutSharedBudgets,
} from '../../src/core/disruption-budgets.js'
import type { BudgetRecord, LabelSelector, PodRecord } from '../../src/core/pods.js'
import { aBatch, aPod, aWorker } from '../support/builders.js'

const WEB: LabelSelector = { matchLabels: { app: 'web' }, matchExpressions: [] }

function aBudget(overrides: Partial<BudgetRecord> = {}): BudgetRecord {
  return {
    namespace: 'shop',
    name: 'web',
    selector: WEB,
    disruptionsAllowed: 1,
    currentHealthy: 3,
    desiredHealthy: 2,
    expectedPods: 3,
    ...overrides,
  }
}

const web = (overrides: Partial<PodRecord> = {}) => aPod({ labels: { app: 'web' }, ...overrides })

describe('does a budget watch over a pod', () => {
  const expression = (operator: string, ...values: string[]): LabelSelector => ({
    matchLabels: {},
    matchExpressions: [{ key: 'app', operator, values }],
  })

  it.each<[string, LabelSelector | null, boolean]>([
    ['no selector: none', null, false],
    ['an empty selector: every pod of the namespace', { matchLabels: {}, matchExpressions: [] }, true],
    ['the label it names', WEB, true],
    ['another value', { ...WEB, matchLabels: { app: 'db' } }, false],
    ['one label more than the pod has', { ...WEB, matchLabels: { app: 'web', tier: 'front' } }, false],
    ['In', expression('In', 'db', 'web'), true],
    ['In, others', expression('In', 'db'), false],
    ['NotIn', expression('NotIn', 'db'), true],
    ['NotIn, this one', expression('NotIn', 'web'), false],
    ['Exists', expression('Exists'), true],
    ['DoesNotExist', expression('DoesNotExist'), false],
    [
      'labels fit, an expression does not',
      { ...expression('DoesNotExist'), matchLabels: { app: 'web' } },
      false,
    ],
    ['an operator nobody knows yet', expression('Gt', '1'), true],
  ])('%s', (_, selector, expected) => {
    expect(selectsPod(aBudget({ selector }), web())).toBe(expected)
  })

  it.each<[string, LabelSelector, boolean]>([
    ['NotIn', expression('NotIn', 'db'), true],
    ['In', expression('In', 'web'), false],
    ['Exists', expression('Exists'), false],
    ['DoesNotExist', expression('DoesNotExist'), true],
  ])('without the label: %s', (_, selector, expected) => {
    expect(selectsPod(aBudget({ selector }), aPod())).toBe(expected)
  })

  it('never over one of another namespace', () => {
    expect(selectsPod(aBudget(), web({ namespace: 'billing' }))).toBe(false)
  })
})

interface HopelessRow {
  readonly id: string
  readonly kind: string
  readonly what: string
  readonly pdb: { expected: number; desired: number; current: number; allowed: number }
  readonly expect: { hopeless: boolean }
}

const FIXTURE = JSON.parse(
  readFileSync(new URL('../fixtures/drain-verdicts.json', import.meta.url), 'utf8'),
) as { readonly rows: readonly HopelessRow[] }

describe('can a budget never allow an eviction', () => {
  const rows = FIXTURE.rows.filter(({ kind }) => kind === 'pdb-hopeless')

  it('there are rows of other tools', () => {
    expect(rows.length).toBeGreaterThan(2)
  })

  it.each([
    ...rows.map(({ id, what, pdb, expect: { hopeless } }) => [`${id} ${what}`, pdb, hopeless] as const),
    ['needs all three, has them', { expected: 3, desired: 3, current: 3, allowed: 0 }, true] as const,
    ['one replica that is to stay', { expected: 1, desired: 1, current: 1, allowed: 0 }, true] as const,
    ['needs more than there are', { expected: 1, desired: 2, current: 1, allowed: 0 }, true] as const,
    ['an eviction is under way', { expected: 3, desired: 2, current: 3, allowed: 0 }, false] as const,
    ['watches over nothing', { expected: 0, desired: 0, current: 0, allowed: 0 }, false] as const,
  ])('%s', (_, { expected, desired, current, allowed }, hopeless) => {
    const budget = aBudget({
      expectedPods: expected,
      desiredHealthy: desired,
      currentHealthy: current,
      disruptionsAllowed: allowed,
    })

    expect(isHopeless(budget)).toBe(hopeless)
  })
})

describe('a batch and the budgets its nodes share', () => {
  const three = aBatch([aWorker('w-1'), aWorker('w-2'), aWorker('w-3')])

  function together(pods: Record<string, PodRecord[]>, ...budgets: BudgetRecord[]): string[] {
    const podsOf = Object.entries(pods).map(([node, its]) => ({ node, pods: its }))
    return withoutSharedBudgets(three, podsOf, budgets).batch.nodes.map(batchNodeName)
  }

  it.each<[string, Record<string, PodRecord[]>, Partial<BudgetRecord>, string[]]>([
    ['one pod each, one allowed', { 'w-1': [web()], 'w-2': [web()], 'w-3': [web()] }, {}, ['w-1']],
    [
      'two allowed: two go',
      { 'w-1': [web()], 'w-2': [web()], 'w-3': [web()] },
      { disruptionsAllowed: 2 },
      ['w-1', 'w-2'],
    ],
    ['the one that has none goes, too', { 'w-1': [web()], 'w-2': [web()] }, {}, ['w-1', 'w-3']],
    [
      'the first always goes, whatever it needs',
      { 'w-1': [web(), web()] },
      { disruptionsAllowed: 0 },
      ['w-1', 'w-2', 'w-3'],
    ],
    [
      'nor does it matter which one is alone with it',
      { 'w-2': [web(), web(), web()] },
      { disruptionsAllowed: 0 },
      ['w-1', 'w-2', 'w-3'],
    ],
    [
      'pods of DaemonSets stay',
      {
        'w-1': [web()],
        'w-2': [web({ controller: { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'a' } })],
      },
      {},
      ['w-1', 'w-2', 'w-3'],
    ],
    ['static pods stay', { 'w-1': [web()], 'w-2': [web({ mirror: true })] }, {}, ['w-1', 'w-2', 'w-3']],
    [
      'terminating pods have spent theirs',
      { 'w-1': [web()], 'w-2': [web({ terminating: true })] },
      {},
      ['w-1', 'w-2', 'w-3'],
    ],
    [
      'finished pods need none',
      { 'w-1': [web()], 'w-2': [web({ phase: 'Succeeded' })] },
      {},
      ['w-1', 'w-2', 'w-3'],
    ],
    [
      'of another namespace',
      { 'w-1': [web()], 'w-2': [web({ namespace: 'billing' })] },
      {},
      ['w-1', 'w-2', 'w-3'],
    ],
  ])('%s', (_, pods, budget, expected) => {
    expect(together(pods, aBudget(budget))).toEqual(expected)
  })

  it('looks at every budget by itself', () => {
    const db = aBudget({ name: 'db', selector: { ...WEB, matchLabels: { app: 'db' } } })
    const dbPod = aPod({ labels: { app: 'db' } })

    expect(together({ 'w-1': [web()], 'w-2': [dbPod], 'w-3': [dbPod] }, aBudget(), db)).toEqual([
      'w-1',
      'w-2',
    ])
  })

  it('says who comes later, after whom and why', () => {
    const podsOf = [
      { node: 'w-1', pods: [web()] },
      { node: 'w-2', pods: [web()] },
    ]

    expect(withoutSharedBudgets(three, podsOf, [aBudget()]).notes).toEqual([
      'w-2 comes after w-1: budget shop/web allows 1 at a time, and they all have pods of it',
    ])
  })

  it('knows the nodes a budget holds up', () => {
    const podsOf = [
      { node: 'w-1', pods: [web({ phase: 'Failed' })] },
      { node: 'w-2', pods: [aPod(), web()] },
    ]

    expect(nodesUnder(aBudget(), podsOf)).toEqual(['w-2'])
  })
})
