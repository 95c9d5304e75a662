import type { z } from 'zod'
import { etcdMembers, successionOf } from '../../core/etcd-view.js'
import type { Cluster } from '../../ports/cluster.js'
import type { ControlPlane, HandedOver } from '../../ports/etcd.js'
import { type Addresses, apiServerPods, memberPods, metricsPods, named } from './addresses.js'
import { ApiServers } from './api-servers.js'
import { ClientMembers } from './client-members.js'
import { MetricsMembers } from './metrics-members.js'
import type { etcdApiServerOptions, etcdMetricsOptions, etcdOptions } from './schema.js'

/** Where static pods are read, for whatever the spec does not name. */
type Pods = Pick<Cluster, 'controlPlanePods'>

/** `provider: etcd`: everything, from the members' client URLs. */
export function etcdControlPlane(options: z.output<typeof etcdOptions>, pods: Pods): ControlPlane {
  const members = new ClientMembers(namedOr(options.members, memberPods(pods)), options)
  const apiServers = new ApiServers(namedOr(options.apiServers, apiServerPods(pods)), options.apiServerCaFile)
  const view: ControlPlane['members'] = async (signal) => {
    const seen = await members.seen(signal)
    if ('why' in seen) return { kind: 'unknown', why: seen.why }
    const { members: list, expected } = seen.answer
    return { kind: 'members', members: etcdMembers(list), expected }
  }
  return {
    members: view,
    apiServer: (name, signal) => apiServers.ready(name, signal),
    handOverFrom: async (name, signal) => {
      const succession = successionOf(await view(signal), name)
      if (succession.kind !== 'heir') return succession
      const { heir } = succession
      const said = await members.handOver(name, heir.id, signal)
      return 'why' in said ? { kind: 'cannot', why: said.why } : { kind: 'handedOver', to: heir.name }
    },
  }
}

/** `provider: etcd-metrics`: health, role and lag of each named member; nothing can be changed there. */
export function etcdMetricsControlPlane(
  options: z.output<typeof etcdMetricsOptions>,
  pods: Pods,
): ControlPlane {
  const members = new MetricsMembers(namedOr(options.members, metricsPods(pods)), options)
  const apiServers = new ApiServers(namedOr(options.apiServers, apiServerPods(pods)), options.apiServerCaFile)
  return {
    members: async (signal) => {
      const seen = await members.seen(signal)
      return 'why' in seen
        ? { kind: 'unknown', why: seen.why }
        : { kind: 'members', members: etcdMembers(seen.answer) }
    },
    apiServer: (name, signal) => apiServers.ready(name, signal),
    handOverFrom: async () => CANNOT,
  }
}

/** `provider: etcd-api-server`: the health of stacked members through the API servers beside them. */
export function etcdApiServerControlPlane(
  options: z.output<typeof etcdApiServerOptions>,
  pods: Pods,
): ControlPlane {
  const apiServers = new ApiServers(namedOr(options.apiServers, apiServerPods(pods)), options.apiServerCaFile)
  return {
    members: async (signal) => {
      const seen = await apiServers.members(signal)
      return 'why' in seen ? { kind: 'unknown', why: seen.why } : { kind: 'members', members: seen.answer }
    },
    apiServer: (name, signal) => apiServers.ready(name, signal),
    handOverFrom: async () => CANNOT,
  }
}

function namedOr(list: readonly string[] | undefined, found: Addresses): Addresses {
  return list === undefined ? found : named(list)
}

const CANNOT: HandedOver = { kind: 'cannot', why: 'the spec gives no client access to etcd' }
