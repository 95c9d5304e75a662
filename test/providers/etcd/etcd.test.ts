import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EtcdMember } from '../../../src/core/model.js'
import { mayLeave } from '../../../src/core/quorum.js'
import type { ControlPlane } from '../../../src/ports/etcd.js'
import { etcdControlPlane, etcdMetricsControlPlane } from '../../../src/providers/etcd/control-planes.js'
import { etcdMetricsOptions, etcdOptions } from '../../../src/providers/etcd/schema.js'
import { EtcdMembers } from '../../support/etcd-members.js'
import { whileCollecting } from '../../support/garbage.js'
import { freePort } from '../../support/ports.js'
import { waitUntil } from '../../support/wait.js'

/** The spec names everybody. */
const NO_PODS = { controlPlanePods: async () => [] }
const QUIET = AbortSignal.timeout(600_000)
const HEALTHY = { learner: false, health: 'healthy', caughtUp: true, alarms: [] }

let etcd: EtcdMembers
let client: ControlPlane
let metrics: ControlPlane

beforeAll(async () => {
  etcd = await EtcdMembers.start(3)
  client = etcdControlPlane(etcdOptions.parse({ members: named('clientUrl'), ...etcd.files }), NO_PODS)
  metrics = etcdMetricsControlPlane(etcdMetricsOptions.parse({ members: named('metricsUrl') }), NO_PODS)
}, 60_000)
afterAll(() => etcd.stop())

/** The machines are called cp1 and so on, etcd calls its members otherwise. */
function named(url: 'clientUrl' | 'metricsUrl'): string[] {
  return etcd.members.map((member, at) => `cp${at + 1}=${member[url]}`)
}

async function membersOf(plane: ControlPlane): Promise<Record<string, EtcdMember>> {
  const view = await plane.members(QUIET)
  if (view.kind === 'unknown') throw new Error(view.why)
  return Object.fromEntries(view.members.map((member) => [member.name, member]))
}

function leaderOf(members: Record<string, EtcdMember>): string {
  const leading = Object.values(members).filter(({ leader }) => leader)
  expect(leading).toHaveLength(1)
  return leading[0]?.name ?? ''
}

async function ids(): Promise<string[]> {
  const { members } = await etcd.call('cluster/member/list', {})
  return (members as { ID: string }[]).map(({ ID }) => ID).sort()
}

describe('three members of a real etcd', () => {
  it.each([
    ['client', () => client],
    ['metrics', () => metrics],
  ])('CKS-13 are healthy voters with 64-bit ids as text, one leading, at their %s URLs', async (_, plane) => {
    const members = await membersOf(plane())

    expect(Object.keys(members).sort()).toEqual(['cp1', 'cp2', 'cp3'])
    for (const member of Object.values(members)) expect(member).toMatchObject(HEALTHY)
    expect(
      Object.values(members)
        .map(({ id }) => id)
        .sort(),
    ).toEqual(await ids())
    expect(leaderOf(members)).toBe(leaderOf(await membersOf(client)))
  })

  it.each([
    ['client', () => client],
    ['metrics', () => metrics],
  ])(
    'CKS-13 of which one hangs: it is unknown, the others are not held up, at their %s URLs',
    async (_, plane) => {
      const follower = followerOf(await membersOf(client))
      const { process } = etcd.members[Number(follower.slice(2)) - 1] as EtcdMembers['members'][number]
      process.pause()
      try {
        const members = await whileCollecting(membersOf(plane()))

        const { [follower]: hung, ...others } = members
        expect(hung).toMatchObject({ health: 'unknown', caughtUp: false })
        expect(Object.values(others)).toMatchObject([HEALTHY, HEALTHY])
      } finally {
        process.resume()
      }
      await waitUntil(async () => (await membersOf(client))[follower]?.health === 'healthy', {
        for: `${follower} to be healthy again`,
      })
    },
  )

  it('CKS-13 and a learner that was added and has never started', async () => {
    const peerURLs = [`http://127.0.0.1:${await freePort()}`]
    // etcd changes its membership only when all members have been in touch for some seconds.
    const { member } = await waitUntil(() => etcd.call('cluster/member/add', { peerURLs, isLearner: true }), {
      for: 'etcd to take a learner',
    })
    const { ID } = member as { ID: string }
    try {
      const members = await membersOf(client)

      expect(Object.values(members)).toHaveLength(4)
      expect(Object.values(members).find(({ id }) => id === ID)).toMatchObject({
        learner: true,
        health: 'unknown',
        caughtUp: false,
        leader: false,
      })
    } finally {
      await etcd.call('cluster/member/remove', { ID })
    }
  })

  it('CKS-13 and a name of the spec that none of them has is one that is missing', async () => {
    const nobody = `cp4=https://127.0.0.1:${await freePort()}`
    const members = [...named('clientUrl'), nobody]
    const view = await etcdControlPlane(etcdOptions.parse({ members, ...etcd.files }), NO_PODS).members(QUIET)

    expect(mayLeave([], view, ['cp1'])).toEqual({
      ok: false,
      why: 'etcd would keep 2 healthy voters of 4, needs 3 (cp4 is missing from the member list)',
    })
  })

  it('CKS-13 and an alarm is told of the member that raised it', async () => {
    const { cp2 } = await membersOf(client)
    const alarm = { memberID: cp2?.id, alarm: 'NOSPACE' }
    await etcd.call('maintenance/alarm', { action: 'ACTIVATE', ...alarm })
    try {
      const members = await membersOf(client)

      expect(members.cp2).toMatchObject({ alarms: ['NOSPACE'] })
      expect([members.cp1?.alarms, members.cp3?.alarms]).toEqual([[], []])
    } finally {
      await etcd.call('maintenance/alarm', { action: 'DEACTIVATE', ...alarm })
    }
  })

  it('CKS-13 hand the leadership over, and only from the one that has it', async () => {
    const before = leaderOf(await membersOf(client))
    const follower = followerOf(await membersOf(client))

    expect(await client.handOverFrom(follower, QUIET)).toEqual({ kind: 'notLeading' })
    expect(leaderOf(await membersOf(client))).toBe(before)
    const handed = await client.handOverFrom(before, QUIET)
    const after = leaderOf(await membersOf(client))

    expect(handed).toEqual({ kind: 'handedOver', to: after })
    expect(after).not.toBe(before)
    expect(await metrics.handOverFrom(after, QUIET)).toMatchObject({ kind: 'cannot' })
  })
})

describe('members that cannot be asked', () => {
  it('CKS-13 are unknown as a whole, with the reason, never "no members"', async () => {
    const nobody = `https://127.0.0.1:${await freePort()}`
    const plane = etcdControlPlane(etcdOptions.parse({ members: [`cp1=${nobody}`], ...etcd.files }), NO_PODS)

    expect(await plane.members(QUIET)).toEqual({
      kind: 'unknown',
      why: expect.stringMatching(/^https:\/\/127\.0\.0\.1:\d+\/v3\/\S+: connect ECONNREFUSED/),
    })
    expect(await plane.handOverFrom('cp1', QUIET)).toMatchObject({ kind: 'cannot' })
  })

  it('CKS-13 say so when they want a client certificate, and when there is no such file', async () => {
    const { caFile } = etcd.files
    const bare = etcdControlPlane(etcdOptions.parse({ members: named('clientUrl'), caFile }), NO_PODS)
    const lost = etcdControlPlane(
      etcdOptions.parse({ members: named('clientUrl'), caFile: '/no/such/ca.crt' }),
      NO_PODS,
    )

    expect(await bare.members(QUIET)).toMatchObject({
      kind: 'unknown',
      why: expect.stringContaining('it may want a client certificate'),
    })
    expect(await lost.members(QUIET)).toMatchObject({
      kind: 'unknown',
      why: expect.stringContaining('/no/such/ca.crt'),
    })
  })
})

function followerOf(members: Record<string, EtcdMember>): string {
  const follower = Object.values(members).find(({ leader }) => !leader)
  if (follower === undefined) throw new Error('nobody follows')
  return follower.name
}
