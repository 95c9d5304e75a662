import type { WorkflowHandle } from '@temporalio/client'

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
    const ended =
      event.activityTaskCompletedEventAttributes ??
      event.activityTaskFailedEventAttributes ??
      event.activityTaskCanceledEventAttributes ??
      event.activityTaskTimedOutEventAttributes
    if (ended) open.delete(String(ended.scheduledEventId))
  }
  throw new Error(`the history has no ${step}`)
}
