import { describe, expect, it } from 'vitest'
import { whyUnhealthy } from '../../src/core/health.js'
import type { EtcdMember, EtcdView } from '../../src/core/model.js'
import { allVoters } from '../../src/core/quorum.js'
import { whyNotBack } from '../../src/core/verify.js'
import { aControl, aMachine, aNode, aVoter, etcdOf, LARGE, several } from '../support/builders.js'

/** What is left in etcd's list of a machine that was made anew without removing its member. */
const GONE: Partial<EtcdMember> = { id: 'gone', health: 'unknown' }

describe('two etcd members of one name', () => {
  it.each<[string, readonly string[], readonly (string | EtcdMember)[], readonly [string, string | null][]]>([
    [
      'CKS-00 are two voters',
      ['m1', 'm2'],
      ['m1', aVoter('m2', GONE), 'm2'],
      [
        ['m1', 'm1'],
        ['m2', 'gone'],
        ['m2', 'm2'],
      ],
    ],
    [
      'CKS-00 are one when one of them is a learner: it has no vote',
      ['m1', 'm2'],
      ['m1', 'm2', aVoter('m2', { id: 'new', learner: true })],
      [
        ['m1', 'm1'],
        ['m2', 'm2'],
      ],
    ],
    [
      'CKS-00 are one voter that is expected when both are learners',
      ['m1'],
      [aVoter('m1', { id: 'a', learner: true }), aVoter('m1', { id: 'b', learner: true })],
      [['m1', 'a']],
    ],
    [
      'CKS-00 stand beside one that is expected and not listed',
      ['m3', 'm1'],
      [aVoter('m1', GONE), 'm1'],
      [
        ['m1', 'gone'],
        ['m1', 'm1'],
        ['m3', null],
      ],
    ],
  ])('%s', (_, expected, members, voters) => {
    const view = etcdOf(members) as Extract<EtcdView, { kind: 'members' }>

    const found = allVoters(expected, view).map(({ name, member }) => [name, member?.id ?? null])

    expect(found).toEqual(voters.map(([name, id]) => [name, id === name ? aVoter(name).id : id]))
  })

  it('CKS-00 counts whom etcd was told to expect, and a member that only etcd knows', () => {
    const view = { ...etcdOf(['m1', 'stranger']), expected: ['m2'] } as Extract<EtcdView, { kind: 'members' }>

    expect(allVoters(['m1'], view).map(({ name }) => name)).toEqual(['m1', 'm2', 'stranger'])
  })

  it('CKS-21 count both towards the quorum that health asks for', () => {
    const members = several(2, aControl, 'c')
    const [first, second] = members.map(({ machine }) => machine.name)
    const etcd = etcdOf([first ?? '', second ?? '', aVoter(second ?? '', GONE), aVoter('third', GONE)])

    expect(whyUnhealthy(members, [], etcd)).toEqual(['etcd has 2 healthy voters of 4, needs 3'])
  })

  const CONTROL = {
    bootId: 'b1',
    settings: LARGE,
    needsNode: true,
    needsMember: true,
    needsApiServer: true,
    name: 'n',
  }

  it.each<[string, readonly (string | EtcdMember)[], string[]]>([
    ['CKS-18 is back when the new one is healthy, listed after the stale one', [aVoter('n', GONE), 'n'], []],
    ['CKS-18 is back when the new one is healthy, listed before the stale one', ['n', aVoter('n', GONE)], []],
    [
      'CKS-18 is not back when neither is',
      [aVoter('n', GONE), aVoter('n', { health: 'unhealthy' })],
      ['its etcd member is unreachable, is unhealthy'],
    ],
    [
      'CKS-18 is not back while the new one learns',
      [aVoter('n', GONE), aVoter('n', { learner: true })],
      ['its etcd member is unreachable, is a learner'],
    ],
    ['CKS-18 is not back without any', ['other'], ['its etcd member is missing from the member list']],
  ])('%s', (_, members, why) => {
    const facts = {
      machine: aMachine('n', { offering: 'large' }),
      node: aNode('n', { bootId: 'b2' }),
      etcd: etcdOf(members),
      apiServer: { kind: 'ok' as const },
    }

    expect(whyNotBack(CONTROL, facts)).toEqual(why)
  })
})
