import type { KubeObject } from '../../support/kube-api.js'
import { waitUntil } from '../../support/wait.js'
import { type ClusterUnderTest, CONTAINER, PODS, WORKLOADS } from './conformance.js'

export const LABELS = { app: 'web' }

/** Workloads named `web`, and their pods. */
export function workloadPods(cluster: () => ClusterUnderTest) {
  const run = async (plural: string, spec: object = {}, pod: object = {}) =>
    await cluster().ok('POST', `${WORKLOADS}/${plural}`, {
      metadata: { name: 'web' },
      spec: {
        selector: { matchLabels: LABELS },
        template: {
          metadata: { labels: LABELS },
          spec: { terminationGracePeriodSeconds: 0, containers: [CONTAINER], ...pod },
        },
        ...spec,
      },
    })

  const pods = () => cluster().list(`${PODS}?labelSelector=app%3Dweb`)

  const untilPods = (what: string, holds: (found: KubeObject[]) => boolean) =>
    waitUntil(
      async () => {
        const found = await pods()
        return holds(found) && found
      },
      { for: what, timeoutMs: 15_000 },
    )
  return { run, pods, untilPods }
}

export const bound = (found: KubeObject[]) => found.every(({ spec }) => spec.nodeName)
export const count = (found: KubeObject[], number: number) => found.length === number && bound(found)
export const nodesOf = (found: KubeObject[]) => found.map(({ spec }) => spec.nodeName as string).sort()
export const namesOf = (found: KubeObject[]) => found.map(({ metadata }) => metadata.name).sort()
