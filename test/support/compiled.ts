import { join } from 'node:path'
import { inject } from 'vitest'
import type { CompiledAccess } from './compile.js'

let folder: Promise<string> | undefined

/** The path of a program that `compile` has made, by that of its TypeScript in the project. */
export async function compiled(source: 'src/cli/main.ts' | 'test/support/worker-main.ts'): Promise<string> {
  folder ??= given()
  return join(await folder, source.replace(/\.ts$/, '.js'))
}

async function given(): Promise<string> {
  const testBed = inject('testBed')
  if (!testBed) throw new Error('this test starts programs, which NODEROLL_TEST_PARTS=none does not compile')
  const answer = await fetch(`${testBed}/compiled`)
  if (!answer.ok) throw new Error(await answer.text())
  return ((await answer.json()) as CompiledAccess).folder
}
