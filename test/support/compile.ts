import { copyFile, mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BuildOptions, build } from 'esbuild'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** Where compiled programs are, for processes that tests start. */
export interface CompiledAccess {
  readonly folder: string
}

/**
 * What tests start as processes of their own, as JavaScript: hundreds of starts, each of which would take TypeScript some
 * two seconds of a processor. The command as a build makes it, file by file; the worker in one file.
 */
export async function compile(): Promise<CompiledAccess> {
  // Beneath the project's packages, so that they are found.
  const folder = await mkdtemp(join(ROOT, 'node_modules/.noderoll-test-'))
  const common: BuildOptions = {
    absWorkingDir: ROOT,
    outdir: folder,
    outbase: ROOT,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'warning',
  }
  await copyFile(join(ROOT, 'package.json'), join(folder, 'package.json'))
  await build({ ...common, entryPoints: ['src/**/*.ts'] })
  await build({
    ...common,
    entryPoints: ['test/support/worker-main.ts'],
    bundle: true,
    external: ['@temporalio/*'],
    // Packages in CommonJS ask for others that way.
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  })
  return { folder }
}
