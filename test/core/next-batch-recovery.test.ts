import { describe, expect, it } from 'vitest'
import { START_POSITION } from '../../src/core/batch.js'
import type { Member } from '../../src/core/model.js'
import { nextBatch } from '../../src/core/next-batch.js'
import {
  ACTING,
  aControl,
  anAttempt,
  anEtcd,
  aWorker,
  FAILURE,
  LARGE,
  several,
  someFacts,
  someMarks,
} from '../support/builders.js'
import { cordonedByUs, next, skips, stopped, takenDown, unreadable, upToDate } from './next-batch-words.js'

describe('recovery comes first', () => {
  it.each<[string, Member[], string]>([
    [
      'a stopped machine, up to date',
      [aWorker('w-1'), aWorker('w-2', stopped('large'))],
      'recovery w-2 start',
    ],
    ['a stopped machine, out of date', [aWorker('w-1'), aWorker('w-2', stopped())], 'recovery w-2 start'],
    [
      'a stopped worker before a running etcd machine',
      [...several(3, anEtcd, 'e'), aWorker('w-1', stopped())],
      'recovery w-1 start',
    ],
    ['a machine that a rollout took down', [aWorker('w-1'), aWorker('w-2', takenDown)], 'recovery w-2 start'],
    [
      'a node that a rollout cordoned, out of date',
      [aWorker('w-1'), aWorker('w-2', cordonedByUs)],
      'recovery w-2 roll',
    ],
    [
      'a node that a rollout cordoned, nothing to change',
      [aWorker('w-1'), aWorker('w-2', { ...upToDate, ...cordonedByUs })],
      'recovery w-2 return',
    ],
    [
      'stopped ones in the order etcd, control, workers',
      [
        aWorker('w-1', stopped()),
        ...several(3, aControl, 'cp', upToDate),
        aControl('cp-4', stopped()),
        ...several(3, anEtcd, 'e', upToDate),
        anEtcd('e-4', stopped()),
      ],
      'recovery e-4 start',
    ],
    [
      'stopped control nodes one at a time',
      [...several(3, aControl, 'cp'), aControl('cp-4', stopped()), aControl('cp-5', stopped())],
      'recovery cp-4 start',
    ],
    [
      'stopped workers of a pool together: starting takes nothing down',
      [...several(2, aWorker, 'w'), ...several(3, aWorker, 'x', stopped())],
      'recovery x-1 start, x-2 start, x-3 start',
    ],
    [
      'a stopped worker before a marked one that runs, though its pool comes later',
      [aWorker('w-1', { pool: 'a', ...cordonedByUs }), aWorker('x-1', { pool: 'b', ...stopped() })],
      'recovery x-1 start',
    ],
    ['marked nodes that run within the budget', several(3, aWorker, 'w', cordonedByUs), 'recovery w-1 roll'],
    [
      'a stopped machine whose Node was deleted',
      [aWorker('w-1'), aWorker('w-2', { ...stopped(), node: null })],
      'recovery w-2 start',
    ],
  ])('CKS-11 %s', (_, members, expected) => {
    expect(next(someFacts(members))).toBe(expected)
  })

  it('CKS-11 a recovery batch holds at most 50 nodes', () => {
    const answer = nextBatch(someFacts(several(120, aWorker, 'w', stopped())), START_POSITION)

    expect(answer.kind === 'batch' && answer.batch.nodes.length).toBe(50)
  })

  it('CKS-11 a stopped machine is changed while it is off', () => {
    const answer = nextBatch(someFacts([aWorker('w-1', stopped())]), START_POSITION)

    expect(answer.kind === 'batch' && answer.batch.nodes[0]).toMatchObject({
      how: 'start',
      why: 'stopped',
      wants: LARGE,
    })
  })

  it('CKS-11 startStopped: false leaves alone what somebody stopped, and the others go', () => {
    const facts = someFacts([aWorker('w-1'), aWorker('w-2', stopped())], { startStopped: false })

    expect(next(facts)).toBe('w-1 roll')
    expect(skips(facts)).toEqual(['w-2: stopped, and startStopped is false'])
  })

  it('CKS-11 startStopped: false still brings back what a rollout took down', () => {
    const members = [aWorker('w-1'), aWorker('w-2', takenDown)]

    expect(next(someFacts(members, { startStopped: false }))).toBe('recovery w-2 start')
  })

  it('CKS-11 what is skipped holds nobody up', () => {
    const leave = [{ name: 'w-2', pool: 'worker', why: 'an operator said so' }]
    const facts = someFacts([aWorker('w-1'), aWorker('w-2', stopped())])

    expect(next(facts, { ...START_POSITION, leave })).toBe('w-1 roll')
    expect(skips(facts, { ...START_POSITION, leave })).toEqual(['w-2: an operator said so'])
  })

  it('CKS-11 marks that cannot be read are for a person: skipped, whatever the machine does', () => {
    const facts = someFacts([aWorker('w-1'), aWorker('w-2', { ...unreadable, ...stopped() })])

    expect(next(facts)).toBe('w-1 roll')
    expect(skips(facts)).toEqual(['w-2: its marks cannot be read (noderoll.io/attempt)'])
  })
})

describe('asking again resumes', () => {
  const acted = someMarks({ bootId: 'b1', attempt: anAttempt(), acting: ACTING })
  const rebooted = { unschedulable: true, bootId: 'b2', marks: acted }

  it.each<[string, Member, string]>([
    [
      'a node that came back by itself is given back without a restart',
      aWorker('w-2', { ...upToDate, node: rebooted }),
      'recovery w-2 return',
    ],
    [
      'a node that came back, and is out of date again, is rolled',
      aWorker('w-2', { node: rebooted }),
      'recovery w-2 roll',
    ],
    [
      'an act that was announced and never happened is done now',
      aWorker('w-2', { node: { unschedulable: true, marks: acted } }),
      'recovery w-2 roll',
    ],
    [
      'a failed node that came back since is verified again',
      aWorker('w-2', { ...upToDate, node: { ...rebooted, marks: { ...acted, failure: FAILURE } } }),
      'recovery w-2 return',
    ],
    [
      'a failed node that never came back is restarted',
      aWorker('w-2', { ...upToDate, node: { unschedulable: true, marks: { ...acted, failure: FAILURE } } }),
      'recovery w-2 roll',
    ],
  ])('CKS-22 %s', (_, member, expected) => {
    expect(next(someFacts([aWorker('w-1'), member]))).toBe(expected)
  })
})

describe('waiting for what is on its way', () => {
  it.each<[string, Member[], string]>([
    [
      'a machine that starts',
      [aWorker('w-1'), aWorker('w-2', { machine: { power: 'starting' } })],
      'waits: w-2 is starting',
    ],
    [
      'an operation of the provider, on a machine that is up to date',
      [aWorker('w-1'), aWorker('w-2', { machine: { offering: 'large', operation: 'snapshot' } })],
      'waits: w-2: snapshot in progress',
    ],
    [
      'unknown power is not running',
      [aWorker('w-1'), aWorker('w-2', { machine: { power: 'unknown' } })],
      'waits: the power state of w-2 is unknown',
    ],
    [
      'all of them are named',
      [
        aWorker('w-1', { machine: { power: 'stopping' } }),
        aControl('cp-1', { machine: { power: 'starting' } }),
      ],
      'waits: cp-1 is starting; w-1 is stopping',
    ],
  ])('CKS-11 %s', (_, members, expected) => {
    expect(next(someFacts(members))).toBe(expected)
  })

  it('CKS-11 not for a machine that is skipped', () => {
    const facts = someFacts([aWorker('w-1'), aWorker('w-2', { machine: { power: 'starting' } })])
    const leave = [{ name: 'w-2', pool: 'worker', why: 'an operator said so' }]

    expect(next(facts, { ...START_POSITION, leave })).toBe('w-1 roll')
  })
})
