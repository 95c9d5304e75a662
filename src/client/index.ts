export type { ClusterStatus, PlanReport, PoolStatus, Released } from '../api/activities.js'
export type { FailureType } from '../api/failures.js'
export type { CancelRequest, SetMaxUnavailable } from '../api/messages.js'
export type { FailedNode, RolloutResult } from '../api/results.js'
export type { PoolCounts, Skip } from '../core/batch.js'
export type { Problem } from '../core/model.js'
export type { NodeProgress, Progress } from '../core/progress.js'
export type { RolloutRequest } from '../spec/schema.js'
export type { TargetRequest } from './check-request.js'
export {
  NoderollClient,
  type NoderollClientOptions,
  type ReleaseOptions,
  type StartOptions,
} from './noderoll-client.js'
export { type ErrorKind, NoderollError } from './noderoll-error.js'
export { RolloutHandle } from './rollout-handle.js'
