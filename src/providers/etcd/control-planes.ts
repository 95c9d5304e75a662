import type { z } from 'zod'
import { etcdMembers, successionOf } from '../../core/etcd-view.js'
import type { ControlPlane, HandedOver } from '../../ports/etcd.js'
import { ApiServers } from './api-servers.js'
import { ClientMembers } from './client-members.js'
import { MetricsMembers } from './metrics-members.js'
import {
  type etcdApiServerOptions,
  type etcdMetricsOptions,
  type etcdOptions,
  toAddresses,
} from './schema.js'

/** `provider: etcd`: everything, from the members' client URLs. */
export function etcdControlPlane(options: z.output<typeof etcdOptions>): ControlPlane {
  const members = new ClientMembers(toAddresses(options.members), options)
  const apiServers = new ApiServers(toAddresses(options.apiServers), options.apiServerCaFile)
  const view: ControlPlane['members'] = async (signal) => {
    const seen = await members.seen(signal)
    return 'why' in seen
      ? { kind: 'unknown', why: seen.why }
      : { kind: 'members', members: etcdMembers(seen.answer) }
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
export function etcdMetricsControlPlane(options: z.output<typeof etcdMetricsOptions>): ControlPlane {
  const members = new MetricsMembers(toAddresses(options.members), options)
  const apiServers = new ApiServers(toAddresses(options.apiServers), options.apiServerCaFile)
  return {
    members: async (signal) => ({ kind: 'members', members: etcdMembers(await members.seen(signal)) }),
    apiServer: (name, signal) => apiServers.ready(name, signal),
    handOverFrom: async () => CANNOT,
  }
}

/** `provider: etcd-api-server`: the health of stacked members through the API servers beside them. */
export function etcdApiServerControlPlane(options: z.output<typeof etcdApiServerOptions>): ControlPlane {
  const apiServers = new ApiServers(toAddresses(options.apiServers), options.apiServerCaFile)
  return {
    members: async (signal) => ({ kind: 'members', members: await apiServers.members(signal) }),
    apiServer: (name, signal) => apiServers.ready(name, signal),
    handOverFrom: async () => CANNOT,
  }
}

const CANNOT: HandedOver = { kind: 'cannot', why: 'the spec gives no client access to etcd' }
