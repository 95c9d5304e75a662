import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const TESTS = fileURLToPath(new URL('..', import.meta.url))

/** Rows that are no test here, each with the reason. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'ANSWER-17': 'no filter can fail: each looks at plain data that has been read before',
  'CORDON-01': 'giving a node back is no part of a drain (test/rollout/success.test.ts)',
  'CORDON-06': 'as above (test/rollout/marks.test.ts)',
  'PDB-01': 'what a budget can never allow is for the plan to say',
  'PDB-03': 'as above',
  'PDB-05': 'as above',
}

interface Row {
  readonly id: string
  readonly kind: string
}

function texts(folder: string): string[] {
  return readdirSync(join(TESTS, folder))
    .filter((file) => file.endsWith('.test.ts') && file !== 'drain-rows.test.ts')
    .map((file) => readFileSync(join(TESTS, folder, file), 'utf8'))
}

describe('what the drain tests of other projects assert', () => {
  const { rows } = JSON.parse(readFileSync(join(TESTS, 'fixtures/drain-verdicts.json'), 'utf8')) as {
    rows: Row[]
  }
  const titles = [...texts('core'), ...texts('activities')].join('\n')

  it('CKS-16 is a test here, row by row, or is said not to be', () => {
    const missing = rows
      .filter(({ kind }) => kind !== 'filter')
      .map(({ id }) => id)
      .filter((id) => !(id in ELSEWHERE) && !new RegExp(`\\b${id}\\b`).test(titles))

    expect(missing).toEqual([])
    expect(rows).toHaveLength(104)
  })
})
