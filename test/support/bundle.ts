import { readFile } from 'node:fs/promises'
import type { WorkflowBundleWithSourceMap } from '@temporalio/worker'
import { inject } from 'vitest'
import { type BundleAccess, makeBundle } from './make-bundle.js'

let bundle: Promise<WorkflowBundleWithSourceMap> | undefined

/** The workflow code as workers run it, bundled once for all test files. */
export function workflowBundle(): Promise<WorkflowBundleWithSourceMap> {
  bundle ??= givenBundle()
  return bundle
}

async function givenBundle(): Promise<WorkflowBundleWithSourceMap> {
  const testBed = inject('testBed')
  if (!testBed) return makeBundle()
  const answer = await fetch(`${testBed}/workflow-bundle`)
  if (!answer.ok) throw new Error(await answer.text())
  const { file } = (await answer.json()) as BundleAccess
  return JSON.parse(await readFile(file, 'utf8'))
}
