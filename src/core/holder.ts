/** Who holds a cluster: one chain of workflow runs on one Temporal server. Written into the Lease as one line. */
export interface Holder {
  readonly server: string
  readonly namespace: string
  readonly workflowId: string
  readonly firstRunId: string
}

/** `server/namespace/workflow id/first run id`; only the workflow id may hold slashes. */
export function sayHolder(holder: Holder): string {
  return `${holder.server}/${holder.namespace}/${holder.workflowId}/${holder.firstRunId}`
}

/** Null when the text is none of ours: such a holder can only be taken over by a person. */
export function parseHolder(text: string): Holder | null {
  const [server, namespace, ...rest] = text.split('/')
  const firstRunId = rest.pop()
  const workflowId = rest.join('/')
  if (!server || !namespace || !firstRunId || !workflowId) return null
  return { server, namespace, workflowId, firstRunId }
}
