import { describe, expect, it } from 'vitest'
import {
  actingAnnotation,
  attemptAnnotation,
  backToQuarantineChange,
  clearMarksChange,
  failureAnnotation,
  MARK_KEYS,
  parseMarks,
  quarantineChange,
} from '../../src/core/marks.js'
import type { AttemptMark, Marks } from '../../src/core/model.js'
import { isMarked, NO_MARKS } from '../../src/core/model.js'
import { aNode } from '../support/builders.js'

const ATTEMPT: AttemptMark = {
  rollout: 'server/default/cluster-rollout/prod/run-1',
  run: 'run-1',
  token: 'batch-3',
  at: '2026-01-02T03:04:05Z',
  bootId: 'b1',
  uid: 'u1',
  added: { labels: { zone: 'a', app: null }, annotations: { note: 'old' } },
}
const ACTING = { act: 'stop', at: '2026-01-02T03:05:00Z', rollout: 'r', token: 't' }
const FAILURE = {
  step: 'start',
  reason: 'no room',
  machine: 'stopped',
  at: '2026-01-02T03:06:00Z',
  rollout: 'r',
}

const QUARANTINE = { reason: 'its pods did not go', at: '2026-01-02T03:07:00Z', rollout: 'r' }

describe('marks on a node', () => {
  it('reads back what it wrote', () => {
    const marks = parseMarks({
      'somebody.else/note': 'x',
      [MARK_KEYS.bootId]: 'b1',
      [MARK_KEYS.attempt]: attemptAnnotation(ATTEMPT),
      [MARK_KEYS.acting]: actingAnnotation(ACTING),
      [MARK_KEYS.failure]: failureAnnotation(FAILURE),
      [MARK_KEYS.quarantine]: JSON.stringify(QUARANTINE),
    })

    expect(marks).toEqual({
      bootId: 'b1',
      attempt: ATTEMPT,
      acting: ACTING,
      failure: FAILURE,
      quarantine: QUARANTINE,
      unreadable: [],
    })
  })

  it('finds no marks on a node that carries only annotations of others', () => {
    expect(parseMarks({ 'kubeadm.alpha.kubernetes.io/cri-socket': '/run/crio.sock' })).toEqual(NO_MARKS)
  })

  it.each([
    ['no JSON', '{'],
    ['a list', '[]'],
    ['a number', '7'],
    ['null', 'null'],
    ['empty', ''],
    ['a field missing', '{"act":"stop","at":"2026-01-02T03:05:00Z"}'],
    ['a field of another type', '{"act":1,"at":"x","rollout":"r"}'],
  ])('lists an annotation of ours that cannot be read (%s), and the node counts as marked', (_, text) => {
    const marks = parseMarks({ [MARK_KEYS.acting]: text })

    expect(marks).toEqual({ ...NO_MARKS, unreadable: [MARK_KEYS.acting] })
    expect(isMarked(marks)).toBe(true)
  })

  it.each([
    ['prior values that are no text', { ...ATTEMPT, added: { labels: { a: 1 }, annotations: {} } }],
    ['no prior values', { ...ATTEMPT, added: undefined }],
    ['prior values in a list', { ...ATTEMPT, added: { labels: [], annotations: {} } }],
    ['no boot id field', { ...ATTEMPT, bootId: undefined }],
  ])('does not guess how to put a node back: an attempt with %s is unreadable', (_, attempt) => {
    expect(parseMarks({ [MARK_KEYS.attempt]: JSON.stringify(attempt) }).unreadable).toEqual([
      MARK_KEYS.attempt,
    ])
  })

  it('does not take an empty boot id for a baseline', () => {
    expect(parseMarks({ [MARK_KEYS.bootId]: ' ' })).toEqual({ ...NO_MARKS, unreadable: [MARK_KEYS.bootId] })
  })

  it('tolerates fields that a later version added', () => {
    const text = JSON.stringify({ ...ACTING, operation: 'op-1' })

    expect(parseMarks({ [MARK_KEYS.acting]: text }).acting).toEqual(ACTING)
  })

  it('writes the same text whatever the order of fields and of what was added', () => {
    const { added, ...rest } = ATTEMPT
    const turned: AttemptMark = {
      added: { annotations: added.annotations, labels: { app: null, zone: 'a' } },
      ...rest,
    }

    expect(attemptAnnotation(turned)).toBe(attemptAnnotation(ATTEMPT))
  })
})

describe('clearing the marks', () => {
  const marks: Marks = { ...NO_MARKS, bootId: 'b1', attempt: ATTEMPT }
  const noMarks = Object.fromEntries(Object.values(MARK_KEYS).map((key) => [key, null]))

  it('removes every mark, restores prior values, and uncordons the node we cordoned', () => {
    expect(clearMarksChange(aNode('n', { marks }), { uncordon: true })).toEqual({
      unschedulable: false,
      labels: { zone: 'a', app: null },
      annotations: { note: 'old', ...noMarks },
    })
  })

  it.each([
    ['not asked to', marks, false],
    ['somebody else cordoned it', { ...marks, bootId: null }, true],
  ])('leaves the schedulable flag alone: %s', (_, given, uncordon) => {
    expect(clearMarksChange(aNode('n', { marks: given }), { uncordon })).not.toHaveProperty('unschedulable')
  })

  it('never restores a mark, even where one was listed as a prior value', () => {
    const odd: Marks = {
      ...NO_MARKS,
      attempt: { ...ATTEMPT, added: { labels: {}, annotations: { [MARK_KEYS.acting]: 'old' } } },
    }

    expect(clearMarksChange(aNode('n', { marks: odd }), { uncordon: false }).annotations).toEqual(noMarks)
  })

  it('clears what it cannot read, too', () => {
    const odd: Marks = { ...NO_MARKS, unreadable: [MARK_KEYS.attempt] }

    expect(clearMarksChange(aNode('n', { marks: odd }), { uncordon: true })).toEqual({
      labels: {},
      annotations: noMarks,
    })
  })
})

describe('quarantine', () => {
  const cordoned = aNode('n', {
    unschedulable: true,
    labels: { zone: 'b', app: 'x' },
    marks: { ...NO_MARKS, bootId: 'b1', attempt: ATTEMPT },
  })
  const resting = { ...ATTEMPT, added: { labels: {}, annotations: {} } }
  const inQuarantine = { ...cordoned, marks: { ...cordoned.marks, attempt: resting, quarantine: QUARANTINE } }

  it('keeps the cordon and the marks, and takes away what was added for the work', () => {
    expect(quarantineChange(cordoned, ATTEMPT, QUARANTINE)).toEqual({
      unschedulable: true,
      labels: { zone: 'a', app: null },
      annotations: {
        note: 'old',
        [MARK_KEYS.attempt]: attemptAnnotation(resting),
        [MARK_KEYS.quarantine]: JSON.stringify(QUARANTINE),
      },
    })
  })

  it('writes nothing the second time, and again when the reason is another one', () => {
    expect(quarantineChange(inQuarantine, resting, QUARANTINE)).toBeNull()
    expect(quarantineChange(inQuarantine, resting, { ...QUARANTINE, reason: 'another' })).not.toBeNull()
  })

  it('is what a further try goes back to, and nothing else is', () => {
    const tried = { ...inQuarantine, marks: { ...inQuarantine.marks, attempt: ATTEMPT } }

    expect(backToQuarantineChange(tried)).toEqual(quarantineChange(tried, ATTEMPT, QUARANTINE))
    expect(backToQuarantineChange(inQuarantine)).toBeNull()
    expect(backToQuarantineChange(cordoned)).toBeNull()
  })
})
