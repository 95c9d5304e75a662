import type { Act } from './cloud-state.js'
import type { CallName } from './request-log.js'

/** A request understood: which call, on what. */
export type CloudCall =
  | { readonly call: 'offerings' | 'affinityGroups' }
  | { readonly call: 'list' | 'cluster' | 'etcdMembers'; readonly cluster: string }
  | { readonly call: 'moveLeader'; readonly cluster: string; readonly to: unknown }
  | { readonly call: 'get' | 'etcdHealth' | 'etcdStatus' | 'readyz'; readonly machine: string }
  | { readonly call: Act['kind']; readonly machine: string; readonly act: Act }
  | { readonly call: 'operation'; readonly operation: string }
  | { readonly call: 'other'; readonly why: string }

const PER_MACHINE: Readonly<Record<string, CallName>> = {
  'GET ': 'get',
  'POST stop': 'stop',
  'POST start': 'start',
  'PUT offering': 'setOffering',
  'PUT root-disk': 'growRootDisk',
  'PUT affinity-groups': 'setAffinityGroups',
  'GET etcd/health': 'etcdHealth',
  'GET etcd/status': 'etcdStatus',
  'GET apiserver/readyz': 'readyz',
}

/** What a request to the cloud asks for. `other` is one that no cloud would understand. */
export function parseCall(method: string, path: string, body: unknown): CloudCall {
  const [collection = '', id = '', ...rest] = path
    .split('/')
    .filter((part) => part !== '')
    .map(decodeURIComponent)
  const below = rest.join('/')
  if (collection === 'machines' && id !== '') return machineCall(method, id, below, body)
  const route = `${method} ${collection}${id === '' ? '' : '/:id'}${below === '' ? '' : `/${below}`}`
  switch (route) {
    case 'GET offerings':
      return { call: 'offerings' }
    case 'GET affinity-groups':
      return { call: 'affinityGroups' }
    case 'GET clusters/:id':
      return { call: 'cluster', cluster: id }
    case 'GET clusters/:id/machines':
      return { call: 'list', cluster: id }
    case 'GET clusters/:id/etcd/members':
      return { call: 'etcdMembers', cluster: id }
    case 'POST clusters/:id/etcd/leader':
      return { call: 'moveLeader', cluster: id, to: fieldsOf(body).to }
    case 'GET operations/:id':
      return { call: 'operation', operation: id }
    default:
      return { call: 'other', why: `no such endpoint: ${method} ${path}` }
  }
}

function machineCall(method: string, machine: string, below: string, body: unknown): CloudCall {
  const call = PER_MACHINE[`${method} ${below}`]
  const fields = fieldsOf(body)
  switch (call) {
    case 'get':
    case 'etcdHealth':
    case 'etcdStatus':
    case 'readyz':
      return { call, machine }
    case 'stop':
    case 'start':
      return { call, machine, act: { kind: call } }
    case 'setOffering': {
      const { offering } = fields
      if (typeof offering !== 'string') return { call: 'other', why: 'offering must be text' }
      return { call, machine, act: { kind: call, offering } }
    }
    case 'growRootDisk': {
      const { sizeGiB } = fields
      if (typeof sizeGiB !== 'number') return { call: 'other', why: 'sizeGiB must be a number' }
      return { call, machine, act: { kind: call, sizeGiB } }
    }
    case 'setAffinityGroups': {
      const { names } = fields
      if (!isTexts(names)) return { call: 'other', why: 'names must be a list of texts' }
      return { call, machine, act: { kind: call, names } }
    }
    default:
      return { call: 'other', why: `no such endpoint: ${method} machines/:id/${below}` }
  }
}

function fieldsOf(body: unknown): Record<string, unknown> {
  return typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {}
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}
