import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const TESTS = fileURLToPath(new URL('..', import.meta.url))
const FOLDERS = ['activities', 'core', 'providers/kubernetes', 'rollout']

/** The tests that take all rows of a kind out of the file, each with its id in the title. */
const ROW_BY_ROW: Readonly<Record<string, string>> = {
  filter: 'core/drain-oracles.test.ts',
  'pdb-hopeless': 'core/disruption-budgets.test.ts',
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
  const titles = FOLDERS.flatMap(texts).join('\n')

  it('CKS-16 is a test here, row by row', () => {
    const missing = rows
      .filter(({ kind }) => !(kind in ROW_BY_ROW))
      .map(({ id }) => id)
      .filter((id) => !new RegExp(`['\`].*\\b${id}\\b`).test(titles))

    expect(missing).toEqual([])
    expect(rows).toHaveLength(104)
  })

  it.each(Object.entries(ROW_BY_ROW))('CKS-16 every row of the kind %s is one of %s', (kind, file) => {
    const text = readFileSync(join(TESTS, file), 'utf8')

    expect(text).toContain(`kind === '${kind}'`)
    expect(text).toContain('drain-verdicts.json')
    expect(rows.filter((row) => row.kind === kind)).not.toEqual([])
  })
})
