import { randomUUID } from 'node:crypto'
import type { NodeRecord } from '../../core/model.js'
import type { Call } from './call.js'

/** Where the events of objects without a namespace are kept, and where `kubectl describe node` looks. */
const NAMESPACE = 'default'
/** The API server refuses more. */
const LONGEST_MESSAGE = 1024

/** The request that puts an Event on a Node. */
export function nodeEventCall(
  { name, uid }: Pick<NodeRecord, 'name' | 'uid'>,
  type: 'Normal' | 'Warning',
  reason: string,
  message: string,
): Call {
  const now = new Date().toISOString()
  return {
    doing: `record an event on node ${name}`,
    method: 'POST',
    path: `/api/v1/namespaces/${NAMESPACE}/events`,
    body: {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: `noderoll-${randomUUID()}`, namespace: NAMESPACE },
      involvedObject: { apiVersion: 'v1', kind: 'Node', name, uid },
      type,
      reason,
      message: message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE - 1)}…` : message,
      source: { component: 'noderoll' },
      reportingComponent: 'noderoll',
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
    },
  }
}
