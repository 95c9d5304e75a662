import { describe, expect, it } from 'vitest'
import {
  ownNodes,
  type PodPlace,
  type SelfHosting,
  selfHostingProblems,
  type WorkerPlace,
} from '../../src/core/self-hosting.js'
import { aWorker, LARGE } from '../support/builders.js'

const MEMBERS = [aWorker('w-1'), aWorker('w-2')]
const WANTED = { worker: LARGE }

function on(node: string, pod = `noderoll-${node}`): PodPlace {
  return { node, namespace: 'noderoll', pod }
}

function hosting(inside: readonly PodPlace[], overrides: Partial<SelfHosting> = {}): SelfHosting {
  const workers = inside.map((place): WorkerPlace => ({ identity: place.pod, place }))
  return { workers, inside, temporalInside: null, ...overrides }
}

const OUTSIDE: WorkerPlace = { identity: '12@laptop', place: null }

describe('a rollout of what noderoll runs on', () => {
  it('CKS-24 is refused while all workers are on one node that would be rolled', () => {
    const [problem, ...others] = selfHostingProblems(
      hosting([on('w-2'), on('w-2', 'noderoll-b')]),
      MEMBERS,
      WANTED,
    )

    expect(others).toEqual([])
    expect(problem).toEqual({
      where: 'selfHosted',
      what: 'every worker of noderoll (2) runs on node w-2, which is to be rolled',
      fix: 'run another one on another node, or write selfHosted: true if it may stand still until it runs elsewhere',
    })
  })

  it.each([
    ['two nodes have one', hosting([on('w-1'), on('w-2')])],
    [
      'another one is outside',
      hosting([on('w-1')], { workers: [OUTSIDE, { identity: 'a', place: on('w-1') }] }),
    ],
    ['its node is of no pool', hosting([on('infra-1')])],
    ['none is inside', hosting([], { workers: [OUTSIDE] })],
  ])('CKS-24 is fine where %s', (_, found) => {
    expect(selfHostingProblems(found, MEMBERS, WANTED)).toEqual([])
  })

  it('CKS-24 is fine where nothing would be rolled', () => {
    const up = [aWorker('w-1', { machine: { offering: 'large' } })]

    expect(selfHostingProblems(hosting([on('w-1')], { temporalInside: 'x.svc' }), up, WANTED)).toEqual([])
  })

  it('CKS-24 is refused where Temporal is in the cluster, by its address', () => {
    const found = hosting([on('w-1'), on('w-2')], { temporalInside: 'frontend.temporal.svc' })

    expect(selfHostingProblems(found, MEMBERS, WANTED)).toMatchObject([
      { what: 'Temporal (frontend.temporal.svc) runs in the cluster that is to be rolled' },
    ])
  })

  it('CKS-24 takes the nodes of all its workers last, each once', () => {
    expect(ownNodes(hosting([on('w-2'), on('w-1'), on('w-2', 'b')]))).toEqual(['w-1', 'w-2'])
  })
})
