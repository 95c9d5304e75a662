import { BenchBed } from './bed.js'
const bed = await BenchBed.open()
const cluster = await bed.startCluster({ workers: 20, delays: { stopMs: 0, changeMs: 0, startMs: 0, bootMs: 0 } })
for (const offering of ['medium', 'large']) {
  const r = await bed.roll(await bed.spec(cluster, { pools: { worker: { offering } } }), `engine-${offering}`)
  console.log(offering, r.seconds / 20)
}
const { events } = await bed.client.workflow.getHandle('engine-large').fetchHistory()
const ms = (t: any) => Number(t.seconds) * 1000 + t.nanos / 1e6
const by = new Map<number, any>()
const stat: Record<string, number[][]> = {}
let wftSched = 0, wftStart = 0
for (const e of events!) {
  const id = Number(e.eventId); const at = ms(e.eventTime)
  if (e.activityTaskScheduledEventAttributes) by.set(id, { type: e.activityTaskScheduledEventAttributes.activityType!.name, s: at })
  if (e.activityTaskStartedEventAttributes) by.get(Number(e.activityTaskStartedEventAttributes.scheduledEventId)).st = at
  if (e.activityTaskCompletedEventAttributes) { const a = by.get(Number(e.activityTaskCompletedEventAttributes.scheduledEventId)); (stat[a.type] ??= []).push([a.st - a.s, at - a.st]) }
  if (e.workflowTaskScheduledEventAttributes) wftSched = at
  if (e.workflowTaskStartedEventAttributes) wftStart = at
  if (e.workflowTaskCompletedEventAttributes) (stat.WFT ??= []).push([wftStart - wftSched, at - wftStart])
}
const avg = (x: number[]) => (x.reduce((a, b) => a + b, 0) / x.length).toFixed(1)
for (const [k, v] of Object.entries(stat)) console.log(k.padEnd(18), v.length, 'wait', avg(v.map((x) => x[0]!)), 'run', avg(v.map((x) => x[1]!)))
await cluster.close(); await bed.close()
