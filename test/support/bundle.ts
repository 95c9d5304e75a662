import { fileURLToPath } from 'node:url'
import { bundleWorkflowCode, type WorkflowBundleWithSourceMap } from '@temporalio/worker'

let bundle: Promise<WorkflowBundleWithSourceMap> | undefined

/** The workflow code as workers run it, bundled once per test process. */
export function workflowBundle(): Promise<WorkflowBundleWithSourceMap> {
  bundle ??= bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../../src/workflows/index.ts', import.meta.url)),
    logger: { ...console, log() {}, trace() {}, debug() {}, info() {} } as never,
  })
  return bundle
}
