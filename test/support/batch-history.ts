import type { WorkflowHandle } from '@temporalio/client'
import type { History } from '@temporalio/common/lib/proto-utils.js'
import { batchNodeName } from '../../src/core/batch.js'
import type { NextBatch } from '../../src/core/next-batch.js'

type HistoryEvent = NonNullable<History['events']>[number]

/** The steps that had not ended when the first step of this name was scheduled. */
export async function stepsOpenAt(handle: WorkflowHandle, step: string): Promise<string[]> {
  const { events } = await handle.fetchHistory()
  const open = new Map<string, string>()
  for (const event of events ?? []) {
    const scheduled = event.activityTaskScheduledEventAttributes
    if (scheduled) {
      const name = scheduled.activityType?.name ?? ''
      if (name === step) return [...open.values()]
      open.set(String(event.eventId), name)
    }
    const ended = endOfActivity(event)
    if (ended) open.delete(String(ended.scheduledEventId))
  }
  throw new Error(`the history has no ${step}`)
}

/** How long the first step of this name took, from when it was asked for until it had ended in any way. */
export async function secondsOf(handle: WorkflowHandle, step: string): Promise<number> {
  const first = (await stepsOf(handle)).find(({ name }) => name === step)
  if (!first?.hasEnded) throw new Error(`the history has no ${step} that has ended`)
  return first.seconds
}

/** Every step, and how long it took; one that had not ended, until the last event. */
export async function stepsOf(
  handle: WorkflowHandle,
): Promise<{ readonly name: string; readonly seconds: number; readonly hasEnded: boolean }[]> {
  const { events } = await handle.fetchHistory()
  const last = events?.at(-1)
  return (events ?? []).flatMap((asked) => {
    const name = asked.activityTaskScheduledEventAttributes?.activityType?.name
    if (name == null || last === undefined) return []
    const ended = (events ?? []).find((one) => {
      const of = endOfActivity(one)?.scheduledEventId
      return of != null && String(of) === String(asked.eventId)
    })
    return [{ name, seconds: secondsAt(ended ?? last) - secondsAt(asked), hasEnded: ended !== undefined }]
  })
}

function secondsAt({ eventTime }: HistoryEvent): number {
  return Number(eventTime?.seconds ?? 0) + (eventTime?.nanos ?? 0) / 1e9
}

function endOfActivity(event: HistoryEvent) {
  return (
    event.activityTaskCompletedEventAttributes ??
    event.activityTaskFailedEventAttributes ??
    event.activityTaskCanceledEventAttributes ??
    event.activityTaskTimedOutEventAttributes
  )
}

/** What each `nextBatch` of a rollout answered, in order. */
export async function batchesOf(
  handle: WorkflowHandle,
): Promise<
  { readonly nodes: readonly string[]; readonly recovery: boolean; readonly notes: readonly string[] }[]
> {
  const { events } = await handle.fetchHistory()
  const asked = new Set<string>()
  const answers: NextBatch[] = []
  for (const event of events ?? []) {
    const scheduled = event.activityTaskScheduledEventAttributes
    if (scheduled?.activityType?.name === 'nextBatch') asked.add(String(event.eventId))
    const completed = event.activityTaskCompletedEventAttributes
    if (!completed || !asked.has(String(completed.scheduledEventId))) continue
    const data = completed.result?.payloads?.[0]?.data
    answers.push(JSON.parse(Buffer.from(data ?? []).toString()) as NextBatch)
  }
  return answers.flatMap((next) =>
    next.kind === 'batch'
      ? [
          {
            nodes: next.batch.nodes.map(batchNodeName),
            recovery: next.batch.recovery,
            notes: next.view.notes,
          },
        ]
      : [],
  )
}
