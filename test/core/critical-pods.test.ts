import { describe, expect, it } from 'vitest'
import { criticalPodsNotReady } from '../../src/core/critical-pods.js'
import { aPod } from '../support/builders.js'

const NOT_READY = { ready: false, controller: null }

describe('pods that have to be Ready before a node counts as back', () => {
  it.each([
    ['a static pod', { ...NOT_READY, mirror: true }],
    ['one of class system-node-critical', { ...NOT_READY, priorityClass: 'system-node-critical' }],
    ['one of class system-cluster-critical', { ...NOT_READY, priorityClass: 'system-cluster-critical' }],
  ])('CKS-18 %s, named while it is not', (_, pod) => {
    expect(criticalPodsNotReady([aPod({ ...pod, name: 'kube-proxy' })])).toEqual([
      expect.stringMatching(/^pod \S+\/kube-proxy is not ready$/),
    ])
    expect(criticalPodsNotReady([aPod({ ...pod, name: 'kube-proxy', ready: true })])).toEqual([])
  })

  it.each([
    ['an ordinary one', { ...NOT_READY }],
    ['one on its way out', { ...NOT_READY, mirror: true, terminating: true }],
    ['one that has run to its end', { ...NOT_READY, mirror: true, phase: 'Succeeded' }],
  ])('CKS-18 %s holds nothing up', (_, pod) => {
    expect(criticalPodsNotReady([aPod(pod)])).toEqual([])
  })
})
