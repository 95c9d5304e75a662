import { z } from 'zod'
import type { ControlPlanePod } from '../../ports/cluster.js'
import type { KubernetesApi } from './api.js'
import { list, METADATA, understood } from './objects.js'

const STATIC_POD = z.object({
  metadata: METADATA,
  spec: z.object({
    nodeName: z.string().nullish(),
    containers: z.array(
      z.object({ command: z.array(z.string()).nullish(), args: z.array(z.string()).nullish() }),
    ),
  }),
})

const DOING = 'list the static pods of the control plane'

export async function controlPlanePods(api: KubernetesApi, signal: AbortSignal): Promise<ControlPlanePod[]> {
  const path = '/api/v1/namespaces/kube-system/pods'
  const query = { labelSelector: 'tier=control-plane' }
  const { items } = await list(api, { doing: DOING, path, query }, controlPlanePod, signal)
  return items.flat()
}

/** One that a kubelet has put on its node: none where a pod only claims to be of the control plane. */
export function controlPlanePod(item: unknown): ControlPlanePod[] {
  const { metadata, spec } = understood(item, STATIC_POD, DOING)
  const { name, labels, annotations } = metadata
  const component = labels?.component
  const isMirror = 'kubernetes.io/config.mirror' in (annotations ?? {})
  if (component === undefined || !spec.nodeName || !isMirror) return []
  const command = spec.containers.flatMap((container) => [
    ...(container.command ?? []),
    ...(container.args ?? []),
  ])
  return [{ name, node: spec.nodeName, component, annotations: annotations ?? {}, command }]
}
