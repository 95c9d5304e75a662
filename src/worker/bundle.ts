import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { bundleWorkflowCode, DefaultLogger, type WorkflowBundle } from '@temporalio/worker'

/** The workflow code beside this file in one piece, as workers run it. Takes seconds. */
export function bundleWorkflows(): Promise<WorkflowBundle> {
  // TypeScript or compiled: as this file itself runs.
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  return bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL(`../workflows/index.${extension}`, import.meta.url)),
    // The bundler lists all it has packed, which is nothing for the log of a worker.
    logger: new DefaultLogger('ERROR'),
  })
}

/** Bundles the workflow code once, when an image is built, so that its workers need not at every start. */
export async function writeBundle(path: string): Promise<void> {
  const { code } = await bundleWorkflows()
  await writeFile(path, code)
}
