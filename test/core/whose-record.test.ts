import { describe, expect, it } from 'vitest'
import { attemptAnnotation, MARK_KEYS, parseMarks } from '../../src/core/marks.js'
import type { AttemptMark } from '../../src/core/model.js'
import { type ClusterRecord, isAnothers } from '../../src/core/record.js'
import { anAttempt, aRecord } from '../support/builders.js'

describe('what a rollout that is over may still write to', () => {
  it.each<[string, Partial<ClusterRecord>, boolean]>([
    ['its own record', { state: 'Updating', rollout: 'a' }, false],
    ['a record that nobody holds', { state: 'Running', rollout: null }, false],
    ['nothing recorded', {}, false],
    ['the record of another rollout that has begun', { state: 'Updating', rollout: 'b' }, true],
  ])('CKS-07, CKS-24 %s', (_, record, anothers) => {
    expect(isAnothers(aRecord(record), 'a')).toBe(anothers)
  })
})

describe('the attempt mark of a node that was marked before', () => {
  it.each<[string, Partial<AttemptMark>]>([
    ['was', { foundMarked: true }],
    ['was not', { foundMarked: false }],
    ['is not told, by a worker of before', {}],
  ])('K1 says whether it was: %s', (_, told) => {
    const attempt = anAttempt(told)

    expect(parseMarks({ [MARK_KEYS.attempt]: attemptAnnotation(attempt) }).attempt).toEqual(attempt)
  })

  it('K1 is read as not told where it says something else', () => {
    const text = JSON.stringify({ ...anAttempt(), foundMarked: 'yes' })

    expect(parseMarks({ [MARK_KEYS.attempt]: text }).attempt).toEqual(anAttempt())
  })
})
