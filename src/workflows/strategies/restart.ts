import type { NodeJob } from '../../api/activities.js'
import { type Failed, failedOf } from '../../api/failures.js'
import { batchNodeName } from '../../core/batch.js'
import { offeringsToTry } from '../../core/offerings.js'
import type { Step } from '../../core/progress.js'
import { StepFailed } from '../drain-job.js'
import { SLACK_SECONDS, step } from '../steps.js'
import type { ActContext, Acted, Settled, Strategy } from './strategy.js'

/** Pods that keep coming to a drained node are drained again this often; then somebody has to look. */
const MOST_DRAINS_AGAIN = 3

/** Stop → change → start (CKS-17), never live. */
export const restart: Strategy = { act, settle }

async function act(job: NodeJob, context: ActContext): Promise<Acted> {
  const name = batchNodeName(job.node)
  const stopped = await stop(job, context)
  if (stopped !== 'stopped') return stopped
  const failed = (at: Step, error: Failed): Acted => ({
    kind: 'failed',
    begun: 'yes',
    step: at,
    failed: error,
  })
  const noCapacity: string[] = []
  for (const offering of offeringsToTry(job.node)) {
    const settings = {
      summary: `${name}${offering === null ? '' : ` → ${offering}`}`,
      budgetSeconds: context.spec.limits.machineSeconds,
    }
    context.enter(job, 'resize')
    try {
      await step('resizeMachine', settings, { ...job, offering })
    } catch (error) {
      const why = failedOf(error, `resize of ${name}`)
      if (why.type !== 'CapacityUnavailable') return failed('resize', why)
      noCapacity.push(why.message)
      continue
    }
    context.enter(job, 'start')
    try {
      const started = await step('startMachine', settings, job)
      if (started.kind === 'running') return { kind: 'done' }
      noCapacity.push(started.why)
    } catch (error) {
      return failed('start', failedOf(error, `start of ${name}`))
    }
  }
  return failed('start', { type: 'CapacityUnavailable', message: noCapacity.join('; ') })
}

async function stop(job: NodeJob, context: ActContext): Promise<'stopped' | Acted> {
  const name = batchNodeName(job.node)
  for (let drains = 0; ; drains++) {
    if (job.node.how === 'roll' && !context.mayBegin()) return { kind: 'turnedAway' }
    if (job.node.how === 'roll' && context.secondsToBegin() <= 0) {
      const reserve = context.spec.limits.changeReserveSeconds
      return notBegun({
        type: 'BatchTimedOut',
        message: `${name} was not stopped: less than ${reserve} s of the batch were left`,
      })
    }
    try {
      context.enter(job, 'stop')
      const budgetSeconds = context.spec.limits.machineSeconds + SLACK_SECONDS
      const stopped = await step('stopMachine', { summary: name, budgetSeconds }, () => ({
        ...job,
        spec: context.spec,
        notAfterSeconds: context.secondsToBegin(),
      }))
      if (stopped.kind === 'stopped') return 'stopped'
      if (stopped.kind === 'alreadyDone') return { kind: 'done' }
      if (drains === MOST_DRAINS_AGAIN)
        return notBegun({ type: 'DrainBlocked', message: `${name} was not stopped: ${stopped.why}` })
    } catch (error) {
      return { kind: 'failed', begun: 'unknown', step: 'stop', failed: failedOf(error, `stop of ${name}`) }
    }
    try {
      await context.drainAgain(job)
    } catch (error) {
      const cause = error instanceof StepFailed ? error.cause : error
      return context.mayBegin() ? notBegun(failedOf(cause, `drain of ${name}`)) : { kind: 'turnedAway' }
    }
  }
}

function notBegun(failed: Failed): Acted {
  return { kind: 'failed', begun: 'no', step: 'stop', failed }
}

/** The old size and groups are written back and the machine is started; a machine that runs is left alone. */
async function settle(job: NodeJob, context: ActContext): Promise<Settled> {
  const name = batchNodeName(job.node)
  const before = job.node.was.offering
  context.enter(job, 'restore')
  try {
    const budgetSeconds = context.spec.limits.machineSeconds * 2
    const started = await step('restoreMachine', { summary: `${name} → ${before}`, budgetSeconds }, job)
    if (started.kind === 'noCapacity') return { kind: 'broken', why: `back to ${before}: ${started.why}` }
    return started.wasDown
      ? { kind: 'asBefore' }
      : { kind: 'broken', why: 'its machine was left running as it is' }
  } catch (error) {
    return { kind: 'broken', why: `back to ${before}: ${failedOf(error, `restoring ${name}`).message}` }
  }
}
