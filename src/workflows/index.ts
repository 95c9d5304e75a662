export { clusterRollout } from './cluster-rollout.js'
export { clusterStatus, planRollout } from './read-only.js'
export { releaseCluster } from './release-cluster.js'
