import { problemsAt } from './files.mjs'

const DEFINITIONS = 'docs/requirements.md'
const FAMILY = /(?:CKS|VMSS|KTRW)-\d+/
const ID = new RegExp(String.raw`(?:${FAMILY.source}|B\d{2}|K\d)`)
// 'CKS-08 …', 'K1, K2: …', 'CKS-11 and B14 …': all ids a title begins with.
const TITLE = new RegExp(String.raw`['"\`](${ID.source}(?:(?:, | and |/)${ID.source})*)(?=[ :,])`, 'g')
const MENTION = new RegExp(String.raw`\b${FAMILY.source}\b`, 'g')

export const name = 'requirement ids'

/** @param {import('./files.mjs').ProjectFile[]} files */
export function problems(files) {
  const definitions = files.find(({ path }) => path === DEFINITIONS)
  if (!definitions) return [`${DEFINITIONS} is missing`]
  const defined = new Set([...definitions.text.matchAll(/^#+ (\S+?):/gm)].map(([, id]) => id))
  const unknown = (/** @type {string[]} */ ids) => {
    const undefinedIds = ids.filter((id) => !defined.has(id))
    return undefinedIds.length > 0 ? `${undefinedIds.join(', ')}: not in ${DEFINITIONS}` : null
  }
  return files
    .filter(({ path }) => /\.(ts|mjs|md)$/.test(path))
    .flatMap((file) => [
      ...problemsAt(file, MENTION, ([id]) => unknown([id])),
      ...(file.path.startsWith('test/')
        ? problemsAt(file, TITLE, ([, ids]) => unknown(ids?.match(/B\d{2}|K\d/g) ?? []))
        : []),
    ])
}
