import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'

/** @typedef {{ path: string, text: string }} ProjectFile path with slashes, from the root; binary files have no text */

/** A payload in a recorded history: what is in it is written as base64. */
const PAYLOAD = /"data":"([A-Za-z0-9+/]+=*)"/g

/**
 * Every file of the project: what .gitignore names is left out.
 * @param {string} root
 * @returns {Promise<ProjectFile[]>}
 */
export async function projectFiles(root) {
  const ignored = await ignoredNames(root)
  /** @type {ProjectFile[]} */
  const found = []
  /** @param {string} folder */
  const walk = async (folder) => {
    for (const entry of await readdir(join(root, folder), { withFileTypes: true })) {
      if (ignored(entry.name)) continue
      const path = folder ? `${folder}/${entry.name}` : entry.name
      if (entry.isDirectory()) await walk(path)
      else if (entry.isFile()) {
        const bytes = await readFile(join(root, path))
        const text = path.endsWith('.gz') ? history(gunzipSync(bytes).toString()) : bytes.toString()
        found.push({ path, text: text.includes('\0') ? '' : text })
      }
    }
  }
  await walk('')
  return found.sort((a, b) => (a.path < b.path ? -1 : 1))
}

/**
 * With every payload on a line of its own below it: what is in there can be read by whoever has the file.
 * @param {string} json
 */
function history(json) {
  const payloads = [...json.matchAll(PAYLOAD)].map(([, data = '']) => Buffer.from(data, 'base64').toString())
  return [json, ...payloads].join('\n')
}

/**
 * The plain lines of .gitignore (`name`, `folder/`, `*.ext`): all that this project uses.
 * @param {string} root
 */
async function ignoredNames(root) {
  const lines = (await readFile(join(root, '.gitignore'), 'utf8')).split('\n').map((line) => line.trim())
  const names = ['.git', ...lines.filter((line) => line !== '' && !line.startsWith('#'))]
  return (/** @type {string} */ name) =>
    names.some((line) =>
      line.startsWith('*') ? name.endsWith(line.slice(1)) : name === line.replace(/\/$/, ''),
    )
}

/**
 * `path:line: what` for each match, the way editors understand it.
 * @param {ProjectFile} file
 * @param {RegExp} pattern
 * @param {(match: RegExpMatchArray) => string | null} what null: no problem
 */
export function problemsAt(file, pattern, what) {
  const problems = []
  for (const match of file.text.matchAll(pattern)) {
    const sentence = what(match)
    if (sentence === null) continue
    const line = file.text.slice(0, match.index).split('\n').length
    problems.push(`${file.path}:${line}: ${sentence}`)
  }
  return problems
}
