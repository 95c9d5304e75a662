import type { Health } from '../../core/model.js'
import { PortError } from '../../ports/errors.js'
import type { KubernetesApi } from './api.js'
import type { Answer } from './call.js'
import { oneLine } from './errors.js'

const PATH = '/readyz/etcd'

/** Whether the API server that answers reaches its etcd. Anything but its own yes or no is unknown. */
export async function etcdReady(api: KubernetesApi, signal: AbortSignal): Promise<Health> {
  const call = { doing: `read ${PATH}`, method: 'GET', path: PATH, accept: '*/*' } as const
  try {
    return healthIn(await api.call(call, signal))
  } catch (error) {
    if (error instanceof PortError) return { kind: 'unknown', why: error.message }
    throw error
  }
}

function healthIn({ code, server, text }: Answer): Health {
  if (code === 200) return { kind: 'ok' }
  if (code === 500) return { kind: 'notOk', why: `${server}${PATH}: ${oneLine(text) || code}` }
  return { kind: 'unknown', why: `${server}${PATH} answered ${code}` }
}
