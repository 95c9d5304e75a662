import type { ClusterRecord } from '../core/record.js'
import { portErrorKind } from '../ports/errors.js'
import type { Records } from '../ports/records.js'
import type { Attempt } from './attempt.js'

const MOST_CONFLICTS = 5

/** Reads the record, decides, and writes compare-and-set; decides again on a conflict. The same record is not written. */
export async function updateRecord(
  records: Records,
  attempt: Attempt,
  decide: (record: ClusterRecord) => ClusterRecord,
): Promise<ClusterRecord> {
  for (let conflicts = 0; ; conflicts++) {
    const found = await records.read(attempt.signal)
    const wanted = decide(found.value)
    if (JSON.stringify(wanted) === JSON.stringify(found.value)) return found.value
    attempt.mayStillAct()
    try {
      return (await records.write(wanted, found.version, attempt.signal)).value
    } catch (error) {
      if (portErrorKind(error) !== 'conflict' || conflicts === MOST_CONFLICTS) throw error
    }
  }
}
