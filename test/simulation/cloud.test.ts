import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SimulatedCloud } from '../../src/simulation/cloud.js'
import type { SimulatedMachine } from '../../src/simulation/cloud-state.js'
import type { Fault, FaultEffect } from '../../src/simulation/faults.js'
import type { LoggedRequest } from '../../src/simulation/request-log.js'

let cloud: SimulatedCloud
let machine: SimulatedMachine

beforeEach(async () => {
  cloud = new SimulatedCloud({ affinityGroups: [{ name: 'rack-a', explicitDedication: false }] })
  await cloud.start()
  machine = cloud.addMachine({
    ...{ cluster: 'blue', name: 'w-1', type: 'worker', offering: 'small', rootDiskGiB: 50 },
  })
})

afterEach(() => cloud.close())

// biome-ignore lint/suspicious/noExplicitAny: answers are looked at field by field
const call = async (method: string, path: string, body?: unknown): Promise<{ status: number; body: any }> => {
  const response = await fetch(cloud.url + path, {
    method,
    headers: { 'x-client': 'tester' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(10_000),
  })
  return { status: response.status, body: await response.json() }
}

/** An act over HTTP, followed to its end. */
const carryOut = async (method: string, what: string, body?: unknown) => {
  const accepted = await call(method, `/machines/${machine.id}/${what}`, body)
  await cloud.untilMachine('w-1', 'is at rest', ({ operation }) => operation === null)
  return accepted
}

const acts = () =>
  cloud.log
    .acts()
    .map(({ call: name, status, effective }) => `${name} ${status}${effective ? ' effective' : ''}`)

describe('rules', () => {
  it('accepts an act with an operation that runs for its delay, then takes effect', async () => {
    cloud.state.delays.stopMs = 30
    const accepted: { power: string; state: string | undefined }[] = []
    cloud.onRequest({ call: 'stop' }, () => {
      accepted.push({ power: machine.power, state: cloud.state.operations[machine.operation ?? '']?.state })
    })

    const asked = performance.now()
    const { status, body } = await call('POST', `/machines/${machine.id}/stop`)
    await cloud.untilMachine('w-1', 'is off', ({ power }) => power === 'stopped')

    expect(performance.now() - asked).toBeGreaterThan(25)
    expect(status).toBe(202)
    expect(accepted).toEqual([{ power: 'stopping', state: 'running' }])
    expect((await call('GET', `/operations/${body.operation}`)).body).toEqual({
      ...{ id: body.operation, call: 'stop', machine: machine.id, state: 'done', why: null },
    })
  })

  it('says in the log which acts changed something and which had nothing to do', async () => {
    for (const what of ['stop', 'stop', 'start', 'start']) await carryOut('POST', what)

    expect(acts()).toEqual(['stop 202 effective', 'stop 200', 'start 202 effective', 'start 200'])
  })

  it('answers 409 to every act on a machine with an operation in progress', async () => {
    cloud.faults.add({ call: 'stop', count: 1, effect: { kind: 'operationNeverEnds' } })
    const { body } = await call('POST', `/machines/${machine.id}/stop`)

    for (const what of ['stop', 'start']) {
      const refused = await call('POST', `/machines/${machine.id}/${what}`)
      expect(refused).toMatchObject({ status: 409, body: { code: 'OperationInProgress' } })
    }

    cloud.finishOperation(body.operation)
    expect(machine.power).toBe('stopped')
    expect((await carryOut('POST', 'start')).status).toBe(202)
  })

  it.each([
    { path: 'offering', body: { offering: 'large' } },
    { path: 'root-disk', body: { sizeGiB: 60 } },
    { path: 'affinity-groups', body: { names: ['rack-a'] } },
  ])('CKS-17 changes $path on a stopped machine only', async ({ path, body }) => {
    expect(await carryOut('PUT', path, body)).toMatchObject({
      status: 409,
      body: { code: 'MachineNotStopped' },
    })

    await carryOut('POST', 'stop')
    expect((await carryOut('PUT', path, body)).status).toBe(202)
    expect((await carryOut('PUT', path, body)).status).toBe(200)
  })

  it.each([
    { path: 'offering', body: { offering: 'gigantic' }, code: 'UnknownOffering' },
    { path: 'offering', body: {}, code: 'InvalidRequest' },
    { path: 'root-disk', body: { sizeGiB: 40 }, code: 'DiskShrink' },
    { path: 'affinity-groups', body: { names: ['rack-z'] }, code: 'UnknownAffinityGroup' },
  ])('CKS-04 refuses $body for $path: $code', async ({ path, body, code }) => {
    await carryOut('POST', 'stop')

    expect(await carryOut('PUT', path, body)).toMatchObject({ status: 400, body: { code } })
  })

  it('CKS-04 refuses to grow a fixed disk', async () => {
    machine.rootDiskFixed = 'strictly fixed disk offering'
    await carryOut('POST', 'stop')

    const refused = await carryOut('PUT', 'root-disk', { sizeGiB: 60 })

    expect(refused).toMatchObject({
      status: 400,
      body: { code: 'DiskFixed', message: machine.rootDiskFixed },
    })
  })
})

describe('faults', () => {
  const stopWith = async (effect: FaultEffect) => {
    cloud.faults.add({ call: 'stop', machine: 'w-1', count: 1, effect })
    return await carryOut('POST', 'stop').catch(() => null)
  }

  it('answers a status with nothing done, as often as it was told to', async () => {
    cloud.faults.add({ call: 'stop', count: 2, effect: { kind: 'status', status: 503 } })

    for (const _ of ['first', 'second']) expect((await carryOut('POST', 'stop')).status).toBe(503)

    expect(machine.power).toBe('running')
    expect((await carryOut('POST', 'stop')).status).toBe(202)
    expect(acts()).toEqual(['stop 503', 'stop 503', 'stop 202 effective'])
  })

  it('carries an act out and loses the answer', async () => {
    expect(await stopWith({ kind: 'answerLost' })).toBeNull()
    await cloud.untilMachine('w-1', 'is off', ({ power }) => power === 'stopped')

    expect(cloud.log.acts()).toMatchObject([{ answer: 'lost', status: null, effective: true }])
  })

  it('never answers, and does nothing', async () => {
    cloud.faults.add({ call: 'stop', count: 1, effect: { kind: 'blackHole' } })
    const caller = new AbortController()
    cloud.log.changes.subscribe(({ answer }) => answer === 'none' && caller.abort())

    const asked = fetch(`${cloud.url}/machines/${machine.id}/stop`, { method: 'POST', signal: caller.signal })

    await expect(asked).rejects.toThrow()
    expect(machine.power).toBe('running')
    expect(cloud.log.acts()).toMatchObject([{ answer: 'none', effective: false }])
  })

  it('reports an act done that had no effect', async () => {
    const accepted = await stopWith({ kind: 'noEffect' })

    expect((await call('GET', `/operations/${accepted?.body.operation}`)).body.state).toBe('done')
    expect(machine.power).toBe('running')
    expect(acts()).toEqual(['stop 202'])
  })

  it('takes effect later, and is busy meanwhile', async () => {
    cloud.faults.add({ call: 'stop', count: 1, effect: { kind: 'delay', ms: 30 } })
    const accepted: { power: string; operation: string | null }[] = []
    cloud.onRequest({ call: 'stop' }, () => {
      accepted.push({ power: machine.power, operation: machine.operation })
    })

    const asked = performance.now()
    await carryOut('POST', 'stop')

    expect(performance.now() - asked).toBeGreaterThan(25)
    expect(accepted).toEqual([{ power: 'running', operation: 'op-1' }])
    expect(machine.power).toBe('stopped')
  })

  it('fails an operation with its text, leaving a machine that could not be stopped running', async () => {
    const accepted = await stopWith({ kind: 'operationFails', message: 'guest does not answer' })

    const { body } = await call('GET', `/operations/${accepted?.body.operation}`)
    expect(body).toMatchObject({ state: 'failed', why: 'guest does not answer' })
    expect(machine.power).toBe('running')
  })

  it('B19 never has room for one size, and has for the other', async () => {
    cloud.faults.add({ call: 'start', offering: 'large', count: null, effect: { kind: 'capacity' } })
    await carryOut('POST', 'stop')
    await carryOut('PUT', 'offering', { offering: 'large' })

    const first = await carryOut('POST', 'start')
    expect((await call('GET', `/operations/${first.body.operation}`)).body.state).toBe('capacity')
    expect(machine.power).toBe('stopped')

    await carryOut('PUT', 'offering', { offering: 'small' })
    await carryOut('POST', 'start')
    expect(machine.power).toBe('running')
  })

  it('forgets an operation that goes on', async () => {
    const accepted = await stopWith({ kind: 'operationForgotten' })

    expect((await call('GET', `/operations/${accepted?.body.operation}`)).status).toBe(404)
    expect(machine.power).toBe('stopped')
  })

  it('are scripted over HTTP as well as through the object', async () => {
    const fault: Fault = { call: 'start', offering: 'large', count: null, effect: { kind: 'capacity' } }

    expect((await call('POST', '/faults', fault)).status).toBe(200)
    expect((await call('POST', '/faults', { call: 'fly', effect: { kind: 'capacity' } })).status).toBe(400)
    expect((await call('POST', '/faults', { effect: { kind: 'mischief' } })).status).toBe(400)

    expect((await call('GET', '/faults')).body).toEqual({ faults: [fault] })
    await call('DELETE', '/faults')
    expect(cloud.faults.list()).toEqual([])
  })

  it('hit the machine they name and no other', async () => {
    cloud.addMachine({ cluster: 'blue', name: 'w-2', type: 'worker' })
    cloud.faults.add({ machine: 'w-2', count: 1, effect: { kind: 'status', status: 403 } })

    expect((await call('GET', `/machines/${machine.id}`)).status).toBe(200)
    expect((await call('GET', `/machines/${cloud.machine('w-2').id}`)).status).toBe(403)
  })
})

describe('hooks and log', () => {
  it('holds an accepted act back until the hook is done', async () => {
    let seen: LoggedRequest | undefined
    let letGo: () => void = () => undefined
    cloud.onRequest({ call: 'stop', machine: 'w-1' }, async (request) => {
      seen = request
      await new Promise<void>((resolve) => {
        letGo = resolve
      })
    })

    const answer = call('POST', `/machines/${machine.id}/stop`)
    await cloud.untilMachine('w-1', 'is off', ({ power }) => power === 'stopped')

    expect(seen).toMatchObject({ call: 'stop', machine: 'w-1', answer: 'pending', status: null })
    letGo()
    expect((await answer).status).toBe(202)
  })

  it('lets a hook see a request before anything is done', async () => {
    const powers: string[] = []
    cloud.onRequest({ call: 'stop' }, () => void powers.push(machine.power), 'arrival')

    await carryOut('POST', 'stop')

    expect(powers).toEqual(['running'])
  })

  it('logs who asked for what, in order, and not the reading of the log', async () => {
    await carryOut('POST', 'stop')
    await carryOut('PUT', 'offering', { offering: 'large' })
    await call('GET', '/clusters/blue/machines')

    const { requests } = (await call('GET', '/log')).body

    expect(requests).toMatchObject([
      { number: 1, call: 'stop', machine: 'w-1', machineId: machine.id, client: 'tester', status: 202 },
      { number: 2, call: 'setOffering', offering: 'large', body: { offering: 'large' }, effective: true },
      { number: 3, call: 'list', method: 'GET', path: '/clusters/blue/machines', machine: null },
    ])
    await call('DELETE', '/log')
    expect(cloud.log.all()).toEqual([])
  })

  it('keeps acts when reads push each other out', async () => {
    await carryOut('POST', 'stop')
    const read = {
      method: 'GET',
      path: '/',
      call: 'other',
      machine: null,
      machineId: null,
      offering: null,
    } as const
    for (let n = 0; n < 2_100; n++) cloud.log.arrived({ ...read, body: null, client: null })

    expect(cloud.log.acts()).toHaveLength(1)
    expect(cloud.log.all()).toHaveLength(2_001)
  })

  it('CKS-02 has its operation on a cluster set over HTTP', async () => {
    await call('PUT', '/clusters/blue/operation', { operation: 'being deleted' })

    expect((await call('GET', '/clusters/blue')).body).toEqual({ name: 'blue', operation: 'being deleted' })
  })

  it.each([
    { method: 'GET', path: '/nowhere' },
    { method: 'DELETE', path: '/machines/m-1' },
    { method: 'GET', path: '/machines/m-99' },
    { method: 'GET', path: '/clusters/red/machines' },
  ])('answers 404 to $method $path', async ({ method, path }) => {
    expect((await call(method, path)).status).toBe(404)
  })
})

describe('somebody else', () => {
  it('acts past the log', async () => {
    cloud.act('w-1', { kind: 'stop' })
    await cloud.untilMachine('w-1', 'is off', ({ power }) => power === 'stopped')

    expect(cloud.log.all()).toEqual([])
    expect(() => cloud.act('w-1', { kind: 'growRootDisk', sizeGiB: 1 })).toThrow('shrink')
  })

  it('deletes a machine: it is not there any more', async () => {
    cloud.removeMachine('w-1')

    expect((await call('GET', `/machines/${machine.id}`)).status).toBe(404)
  })
})
