// The newest Node when this was written, which the suite passes on as well as on the oldest that is supported.
// `node scripts/current-node.mjs` prints its path.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheFolder, fillOnce, run } from './cache.mjs'

const VERSION = '26.12.1'

/**
 * Node as npm ships it, kept outside the checkout.
 * @param {{ log?: (line: string) => void }} [options]
 * @returns {Promise<string>} the program
 */
export async function ensureCurrentNode({ log = console.error } = {}) {
  const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
  const folder = await fillOnce(
    join(cacheFolder(), `${name}-${VERSION}`),
    async (unfinished) => {
      log(`installing ${name} ${VERSION} from npm`)
      const flags = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts']
      try {
        await run('npm', ['install', '--prefix', unfinished, ...flags, `${name}@${VERSION}`])
      } catch (error) {
        const why = error instanceof Error ? error.message : error
        throw new Error(`Node ${VERSION} cannot be had as npm's package ${name} for this platform: ${why}`)
      }
    },
    log,
  )
  const program = process.platform === 'win32' ? 'node.exe' : 'node'
  const path = join(folder, 'node_modules', name, 'bin', program)
  const version = await run(path, ['--version'])
  if (version !== `v${VERSION}`) throw new Error(`${path} is Node ${version}, not v${VERSION}`)
  return path
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(await ensureCurrentNode())
