import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseHolder, sayHolder } from '../../src/core/holder.js'

describe('who holds a cluster', () => {
  it('CKS-23 is one line that a person can read and give back', () => {
    const holder = {
      server: 'temporal.example:7233',
      namespace: 'default',
      workflowId: 'cluster-rollout/prod-eu',
      firstRunId: 'run-1',
    }
    const line = 'temporal.example:7233/default/cluster-rollout/prod-eu/run-1'

    expect(sayHolder(holder)).toBe(line)
    expect(parseHolder(line)).toEqual(holder)
  })

  it('CKS-23 reads back what it wrote, whatever the workflow is called', () => {
    const part = fc.string({ minLength: 1 }).filter((text) => !text.includes('/'))
    const workflowId = fc.string({ minLength: 1 })
    fc.assert(
      fc.property(part, part, workflowId, part, (server, namespace, id, firstRunId) => {
        const holder = { server, namespace, workflowId: id, firstRunId }
        expect(parseHolder(sayHolder(holder))).toEqual(holder)
      }),
      { numRuns: 500 },
    )
  })

  it.each([
    ['nothing', ''],
    ['the identity of another controller', 'kube-controller-manager_8e1f'],
    ['too few parts', 'a/b/c'],
    ['no server', '/default/cluster-rollout/prod/run-1'],
    ['no namespace', 'a//cluster-rollout/prod/run-1'],
    ['no run', 'a/default/cluster-rollout/prod/'],
    ['no workflow', 'a/default//run-1'],
  ])('CKS-23 takes nobody else for one of ours: %s', (_, text) => {
    expect(parseHolder(text)).toBeNull()
  })
})
