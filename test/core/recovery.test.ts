import { describe, expect, it } from 'vitest'
import type { Machine, Marks, Member } from '../../src/core/model.js'
import { NO_MARKS } from '../../src/core/model.js'
import { bootedSince, recoveryOf } from '../../src/core/recovery.js'
import {
  ACTED,
  ACTING,
  aNode,
  anAttempt,
  anEtcd,
  aWorker,
  CORDONED_BY_OTHERS,
  CORDONED_BY_US,
  FAILED,
  someMarks,
} from '../support/builders.js'

describe('what a stopped or marked member needs', () => {
  const off: Partial<Machine> = { power: 'stopped' }

  it.each<[string, Member, { differs?: boolean; startStopped?: boolean }, string]>([
    ['CKS-11 an unmarked node on a running machine: nothing', aWorker('w'), {}, 'none'],
    ['CKS-11 the same, out of date: nothing', aWorker('w'), { differs: true }, 'none'],
    ['CKS-11 a running machine without a Node: nothing', anEtcd('e'), { differs: true }, 'none'],
    ['CKS-11 a stopped machine is started', aWorker('w', { machine: off }), {}, 'start: stopped'],
    [
      'CKS-11 a stopped external etcd machine is started',
      anEtcd('e', { machine: off }),
      {},
      'start: stopped',
    ],
    [
      'CKS-11 a stopped machine, startStopped: false',
      aWorker('w', { machine: off }),
      { startStopped: false },
      'leave: stopped, and startStopped is false',
    ],
    [
      'CKS-24 a machine that a rollout took down is started whatever startStopped says',
      aWorker('w', { machine: off, node: { marks: ACTED } }),
      { startStopped: false },
      'start: stopped by a rollout that ended',
    ],
    [
      'K2 a machine that failed and is off is started',
      aWorker('w', { machine: off, node: { marks: FAILED } }),
      {},
      'start: stopped by a rollout that ended',
    ],
    [
      'CKS-24 cordoned, not acted on, nothing to change: given back',
      aWorker('w', { node: { marks: CORDONED_BY_US } }),
      {},
      'return: cordoned by a rollout that ended before it acted',
    ],
    [
      'B14 the same under a cordon of somebody else',
      aWorker('w', { node: { marks: CORDONED_BY_OTHERS, unschedulable: true } }),
      {},
      'return: cordoned by a rollout that ended before it acted',
    ],
    [
      'CKS-22 cordoned, not acted on, out of date: rolled',
      aWorker('w', { node: { marks: CORDONED_BY_US } }),
      { differs: true },
      'roll: marked by a rollout that ended, out of date',
    ],
    [
      'CKS-22 acted on and back: given back without a restart',
      aWorker('w', { node: { marks: ACTED, bootId: 'b2' } }),
      {},
      'return: came back by itself',
    ],
    [
      'CKS-22 acted on and back, not ready yet: verified, not restarted',
      aWorker('w', { node: { marks: ACTED, bootId: 'b2', ready: 'notReady' } }),
      {},
      'return: came back by itself',
    ],
    [
      'CKS-24 acting is announced, the boot id is the old one: the act is done again',
      aWorker('w', { node: { marks: ACTED } }),
      {},
      'roll: marked by a rollout that ended',
    ],
    [
      'CKS-24 acted on and back, but not as it should be: rolled',
      aWorker('w', { node: { marks: ACTED, bootId: 'b2' } }),
      { differs: true },
      'roll: marked by a rollout that ended, out of date',
    ],
    [
      'CKS-21 failed and back: verified again',
      aWorker('w', { node: { marks: FAILED, bootId: 'b2' } }),
      {},
      'return: came back by itself',
    ],
    [
      'CKS-21 failed, with the old boot id: rolled',
      aWorker('w', { node: { marks: FAILED } }),
      {},
      'roll: marked by a rollout that ended',
    ],
    [
      'CKS-24 an unknown boot id is not a new one',
      aWorker('w', { node: { marks: ACTED, bootId: null } }),
      {},
      'roll: marked by a rollout that ended',
    ],
    [
      'CKS-11 marks that cannot be read are left for a person',
      aWorker('w', { node: { marks: someMarks({ bootId: 'b1', unreadable: ['noderoll.io/acting'] }) } }),
      { differs: true },
      'leave: its marks cannot be read (noderoll.io/acting)',
    ],
    [
      'CKS-11 the same on a stopped machine',
      aWorker('w', { machine: off, node: { marks: someMarks({ unreadable: ['noderoll.io/acting'] }) } }),
      {},
      'leave: its marks cannot be read (noderoll.io/acting)',
    ],
    [
      'CKS-11 a machine on its way up',
      aWorker('w', { machine: { power: 'starting' } }),
      {},
      'wait: w is starting',
    ],
    [
      'CKS-11 a stopped machine with an operation in progress',
      aWorker('w', { machine: { power: 'stopped', operation: 'resize' } }),
      {},
      'wait: w: resize in progress',
    ],
    [
      'CKS-11 unknown power is not stopped',
      aWorker('w', { machine: { power: 'unknown' }, node: { marks: ACTED } }),
      {},
      'wait: the power state of w is unknown',
    ],
  ])('%s', (_, member, { differs = false, startStopped = true }, expected) => {
    const need = recoveryOf(member, { differs, startStopped })

    const said = need.kind === 'none' ? 'none' : `${need.kind === 'do' ? need.how : need.kind}: ${need.why}`
    expect(said).toBe(expected)
  })
})

describe('has the node booted since it was marked?', () => {
  it.each<[string, Marks, string | null, boolean]>([
    ['another boot id', CORDONED_BY_US, 'b2', true],
    ['the same boot id', CORDONED_BY_US, 'b1', false],
    ['the node says none', CORDONED_BY_US, null, false],
    ['another one, recorded in the attempt alone', CORDONED_BY_OTHERS, 'b2', true],
    ['the same one, recorded in the attempt alone', CORDONED_BY_OTHERS, 'b1', false],
    [
      'the machine was off and had none: any is new',
      someMarks({ attempt: anAttempt({ bootId: null }) }),
      'b1',
      true,
    ],
    ['it had none and has none', someMarks({ attempt: anAttempt({ bootId: null }) }), null, false],
    ['nothing was recorded at all', someMarks({ acting: ACTING }), 'b2', false],
    ['no marks', NO_MARKS, 'b2', false],
  ])('B10 %s', (_, marks, bootId, expected) => {
    expect(bootedSince(aNode('w', { marks, bootId }))).toBe(expected)
  })
})
