/** One rollout a cluster: the id is a lock of its own within a namespace. */
export function rolloutWorkflowId(cluster: string): string {
  return `cluster-rollout/${cluster}`
}

export function releaseWorkflowId(cluster: string): string {
  return `cluster-release/${cluster}`
}

/** Types a worker knows, by the names under which the stock CLI starts them too. */
export const WORKFLOW = {
  rollout: 'clusterRollout',
  plan: 'planRollout',
  status: 'clusterStatus',
  release: 'releaseCluster',
} as const
