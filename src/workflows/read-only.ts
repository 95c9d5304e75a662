import type { ClusterStatus, PlanReport } from '../api/activities.js'
import { SHORT_SECONDS, step } from './steps.js'

const SHORT = { budgetSeconds: SHORT_SECONDS }

/** What `clusterRollout` would do with this spec: a dry run by the very same code. No Lease, no write. */
export async function planRollout(request: unknown): Promise<PlanReport> {
  const { spec } = await step('checkSpec', { ...SHORT, summary: 'the spec' }, { spec: request })
  return step('readPlan', { ...SHORT, summary: spec.target.cluster }, { spec })
}

/** The cluster as it is: settings, what is out of date, state, lastError, marks (CKS-06). No Lease, no write. */
export async function clusterStatus(request: unknown): Promise<ClusterStatus> {
  const { target, page } = await step('checkTarget', { ...SHORT, summary: 'the request' }, { request })
  return step('readStatus', { ...SHORT, summary: target.cluster }, { target, page })
}
