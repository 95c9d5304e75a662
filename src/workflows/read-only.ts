import type { ClusterStatus, PlanReport } from '../api/activities.js'
import { plainly } from './plainly.js'
import { SHORT_SECONDS, step } from './steps.js'

const SHORT = { budgetSeconds: SHORT_SECONDS }

/** What `clusterRollout` would do with this spec: a dry run by the very same code. No Lease, no write. */
export function planRollout(request: unknown): Promise<PlanReport> {
  return plainly(() => plan(request))
}

async function plan(request: unknown): Promise<PlanReport> {
  const { spec } = await step('checkSpec', { ...SHORT, summary: 'the spec' }, { spec: request })
  return step('readPlan', { ...SHORT, summary: spec.target.cluster }, { spec })
}

/** The cluster as it is: settings, what is out of date, state, lastError, marks (CKS-06). No Lease, no write. */
export function clusterStatus(request: unknown): Promise<ClusterStatus> {
  return plainly(() => status(request))
}

async function status(request: unknown): Promise<ClusterStatus> {
  const { target, page } = await step('checkTarget', { ...SHORT, summary: 'the request' }, { request })
  return step('readStatus', { ...SHORT, summary: target.cluster }, { target, page })
}
