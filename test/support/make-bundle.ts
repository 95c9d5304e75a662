import { fileURLToPath } from 'node:url'
import { bundleWorkflowCode, DefaultLogger, type WorkflowBundleWithSourceMap } from '@temporalio/worker'

/** Takes a processor several seconds. */
export function makeBundle(): Promise<WorkflowBundleWithSourceMap> {
  return bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../../src/workflows/index.ts', import.meta.url)),
    logger: new DefaultLogger('ERROR'),
  })
}

/** Where a bundle is, as JSON, for other processes. */
export interface BundleAccess {
  readonly file: string
}
