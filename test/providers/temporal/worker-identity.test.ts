import { expect, it } from 'vitest'
import { placeIn, workerIdentity } from '../../../src/providers/temporal/worker-identity.js'

it.each([
  ['outside of Kubernetes', null],
  [
    'in a pod',
    { namespace: 'noderoll', pod: 'worker-7d9c-x2k', node: 'ip-10-0-0-1.eu-west-1.compute.internal' },
  ],
])('CKS-24 a worker %s is known by its identity', (_, place) => {
  expect(placeIn(workerIdentity(place))).toEqual(place)
})

it('CKS-24 a worker of somebody else says nothing about its place', () => {
  expect(placeIn('12@laptop')).toBeNull()
  expect(placeIn('12@host pod=half node=')).toBeNull()
})
