/** How often Temporal reads the queue of a shard in a second, at most, unless its operator says otherwise; tests say 1,000. */
export const AS_SERVERS_HAVE_IT = 20

export function queueReads(aSecond: number): { dynamicConfig: Record<string, unknown> } {
  return { dynamicConfig: { 'history.transferProcessorMaxPollRPS': aSecond } }
}
