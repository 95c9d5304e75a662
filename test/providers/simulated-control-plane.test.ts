import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { EtcdMember } from '../../src/core/model.js'
import { mayLeave } from '../../src/core/quorum.js'
import { SimulatedControlPlane } from '../../src/providers/simulated/control-plane.js'
import { SimulatedCloud } from '../../src/simulation/cloud.js'
import type { SimulatedEtcdMember } from '../../src/simulation/cloud-state.js'
import { signal } from './machines-contract.js'

const NAMES = ['c-1', 'c-2', 'c-3']

describe('simulated control plane', () => {
  let cloud: SimulatedCloud
  let controlPlane: SimulatedControlPlane

  beforeEach(async () => {
    cloud = new SimulatedCloud()
    await cloud.start()
    for (const name of NAMES) cloud.addMachine({ cluster: 'blue', name, type: 'control' })
    cloud.addMachine({ cluster: 'blue', name: 'w-1', type: 'worker' })
    controlPlane = new SimulatedControlPlane({ url: cloud.url, cluster: 'blue' })
  })

  afterEach(() => cloud.close())

  const members = async (): Promise<Record<string, EtcdMember>> => {
    const view = await controlPlane.members(signal())
    if (view.kind === 'unknown') throw new Error(view.why)
    return Object.fromEntries(view.members.map((member) => [member.name, member]))
  }

  it('CKS-13 sees every member healthy, caught up and with one leader', async () => {
    const seen = await members()

    expect(Object.keys(seen)).toEqual(NAMES)
    expect(
      Object.values(seen).map(({ health, caughtUp, learner }) => ({ health, caughtUp, learner })),
    ).toEqual(NAMES.map(() => ({ health: 'healthy', caughtUp: true, learner: false })))
    expect(Object.values(seen).filter(({ leader }) => leader)).toHaveLength(1)
  })

  it('keeps 64-bit ids as they are', async () => {
    const id = '18446744073709551557'
    Object.assign(cloud.machine('c-2').etcd ?? {}, { id })

    expect((await members())['c-2']?.id).toBe(id)
  })

  const sick: { what: string; oddity: Partial<SimulatedEtcdMember>; seen: Partial<EtcdMember> }[] = [
    {
      what: 'an unhealthy member',
      oddity: { healthy: false, reason: 'NOSPACE' },
      seen: { health: 'unhealthy' },
    },
    { what: 'a learner', oddity: { learner: true }, seen: { learner: true } },
    { what: 'a lagging member', oddity: { lag: 5_000 }, seen: { health: 'healthy', caughtUp: false } },
    {
      what: 'a member that has not come up yet',
      oddity: { joinMs: 60_000 },
      seen: { health: 'unknown', caughtUp: false },
    },
  ]
  it.each(sick)('CKS-13 $what is none that counts', async ({ oddity, seen }) => {
    cloud.scriptEtcd('c-3', oddity)

    expect((await members())['c-3']).toMatchObject(seen)
    expect(mayLeave(NAMES, await controlPlane.members(signal()), ['c-2'])).toMatchObject({ ok: false })
    expect(mayLeave(NAMES, await controlPlane.members(signal()), ['c-3'])).toMatchObject({ ok: true })
  })

  it('B07 a member that the list does not name is missing', async () => {
    cloud.scriptEtcd('c-3', { listed: false })

    const view = await controlPlane.members(signal())

    expect(Object.keys(await members())).toEqual(['c-1', 'c-2'])
    expect(mayLeave(NAMES, view, ['c-1'])).toMatchObject({
      ok: false,
      why: expect.stringContaining('c-3 is missing'),
    })
  })

  it('CKS-13 a member whose machine is off is unknown, and another one leads', async () => {
    const before = await members()
    const leader = Object.values(before).find((member) => member.leader)?.name ?? ''

    cloud.crash(leader)

    const after = await members()
    expect(after[leader]).toMatchObject({ health: 'unknown', leader: false, caughtUp: false })
    expect(Object.values(after).filter((member) => member.leader)).toHaveLength(1)
  })

  it('without a majority the last member is unhealthy, and its API server not ready', async () => {
    cloud.crash('c-1')
    cloud.crash('c-2')

    expect((await members())['c-3']).toMatchObject({ health: 'unhealthy', leader: false })
    expect(await controlPlane.apiServer('c-3', signal())).toMatchObject({ kind: 'notOk' })
  })

  it('B35 a member that never answers does not hold up what the others say', async () => {
    cloud.faults.add({ call: 'etcdHealth', machine: 'c-1', count: null, effect: { kind: 'blackHole' } })

    const seen = await members()

    expect(seen['c-1']).toMatchObject({ health: 'unknown' })
    expect(seen['c-2']).toMatchObject({ health: 'healthy' })
  })

  it('says unknown, not nobody, when the member list cannot be read', async () => {
    for (const name of NAMES) cloud.crash(name)

    expect(await controlPlane.members(signal())).toMatchObject({ kind: 'unknown' })
  })

  it('lists external etcd machines, and no control machine beside them', async () => {
    cloud.addMachine({ cluster: 'green', name: 'e-1', type: 'etcd' })
    cloud.addMachine({ cluster: 'green', name: 'g-1', type: 'control', etcdMember: false })
    const green = new SimulatedControlPlane({ url: cloud.url, cluster: 'green' })

    const view = await green.members(signal())

    expect(view).toMatchObject({
      kind: 'members',
      members: [{ name: 'e-1', health: 'healthy', leader: true }],
    })
    expect(await green.apiServer('g-1', signal())).toEqual({ kind: 'ok' })
  })

  it('CKS-18 tells an API server that serves from one that does not and one that is off', async () => {
    cloud.scriptApiServer('c-2', { ready: false, reason: '[-]etcd failed' })
    cloud.crash('c-3')

    expect(await controlPlane.apiServer('c-1', signal())).toEqual({ kind: 'ok' })
    expect(await controlPlane.apiServer('c-2', signal())).toMatchObject({
      kind: 'notOk',
      why: expect.stringContaining('[-]etcd failed'),
    })
    expect(await controlPlane.apiServer('c-3', signal())).toMatchObject({ kind: 'unknown' })
    expect(await controlPlane.apiServer('w-1', signal())).toMatchObject({ kind: 'unknown' })
    expect(await controlPlane.apiServer('c-9', signal())).toMatchObject({ kind: 'notOk' })
  })

  it('CKS-13 hands the leadership over, only from the one that has it, only to one that is healthy', async () => {
    const leading = async () => Object.values(await members()).find(({ leader }) => leader)?.name
    const first = (await leading()) ?? ''
    const [second = '', third = ''] = NAMES.filter((name) => name !== first)
    cloud.scriptEtcd(second, { healthy: false })

    expect(await controlPlane.handOverFrom(second, signal())).toEqual({ kind: 'notLeading' })
    expect(await controlPlane.handOverFrom(first, signal())).toEqual({ kind: 'handedOver', to: third })
    expect(await leading()).toBe(third)
    cloud.scriptEtcd(first, { healthy: false })
    expect(await controlPlane.handOverFrom(third, signal())).toMatchObject({ kind: 'cannot' })
    expect(await leading()).toBe(third)
  })

  it('throws only the caller’s own reason to stop', async () => {
    const reason = new Error('no longer wanted')

    await expect(controlPlane.members(AbortSignal.abort(reason))).rejects.toBe(reason)
  })
})
