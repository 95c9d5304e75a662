import { sleep } from '@temporalio/workflow'

/** How long a pause of `ms` took by the workflow's clock. */
export async function pause(ms: number): Promise<number> {
  const before = Date.now()
  await sleep(ms)
  return Date.now() - before
}
