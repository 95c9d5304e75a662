import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { expect } from 'vitest'

type History = Parameters<typeof historyToJSON>[0]

/**
 * With NODEROLL_RECORD_HISTORIES=folder every workflow test leaves its history there, named after the test: how the files
 * in test/histories are made (CONTRIBUTING.md).
 */
export async function recordHistory(history: History): Promise<void> {
  const folder = process.env.NODEROLL_RECORD_HISTORIES
  if (folder === undefined) return
  const title = expect.getState().currentTestName ?? 'history'
  const name = title
    .replace(/^.* > /, '')
    .replace(/[^A-Za-z0-9]+/g, '-')
    .slice(0, 80)
    .toLowerCase()
  await mkdir(folder, { recursive: true })
  await writeFile(
    join(folder, `${name}.json.gz`),
    gzipSync(JSON.stringify(JSON.parse(historyToJSON(history)), withoutStack)),
  )
}

/** Stack traces name the folders of whoever recorded them, and no replay looks at them. */
function withoutStack(key: string, value: unknown): unknown {
  return key === 'stackTrace' ? '' : value
}
