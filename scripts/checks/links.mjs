import { posix } from 'node:path'
import { problemsAt } from './files.mjs'

export const name = 'links in Markdown files'

/**
 * Relative links lead to a file or folder, and to a heading where they name one.
 * @param {import('./files.mjs').ProjectFile[]} files
 */
export function problems(files) {
  const pages = new Map(files.map(({ path, text }) => [path, text]))
  const folders = new Set(files.flatMap(({ path }) => parents(path)))
  return files
    .filter(({ path }) => path.endsWith('.md'))
    .flatMap((page) =>
      problemsAt(
        { ...page, text: withoutCode(page.text) },
        /\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)/g,
        ([, link]) => {
          if (link === undefined || /^[a-z][a-z+.-]*:/i.test(link)) return null
          const [target = '', heading] = decodeURI(link).split('#')
          const path =
            target === '' ? page.path : posix.join(posix.dirname(page.path), target).replace(/\/$/, '')
          const text = pages.get(path)
          if (text === undefined) return folders.has(path) ? null : `${link}: no such file`
          return heading && path.endsWith('.md') && !headings(text).has(heading)
            ? `${link}: no such heading`
            : null
        },
      ),
    )
}

/** @param {string} path */
function parents(path) {
  const parts = path.split('/').slice(0, -1)
  return ['.', ...parts.map((_, index) => parts.slice(0, index + 1).join('/'))]
}

/**
 * Code has brackets of its own; its lines stay, so that line numbers are right.
 * @param {string} text
 */
function withoutCode(text) {
  return text
    .replace(/^( *)(```+|~~~+)[\s\S]*?^\1\2/gm, (block) => block.replace(/[^\n]/g, ''))
    .replace(/`[^`\n]*`/g, '')
}

/**
 * The anchors GitHub gives to the headings of a page.
 * @param {string} text
 */
function headings(text) {
  /** @type {Set<string>} */
  const anchors = new Set()
  const lines = text.replace(/^( *)(```+|~~~+)[\s\S]*?^\1\2/gm, '').matchAll(/^#{1,6} +(.+?) *#*$/gm)
  for (const [, title = ''] of lines) {
    const anchor = title
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-')
    let unique = anchor
    for (let again = 1; anchors.has(unique); again++) unique = `${anchor}-${again}`
    anchors.add(unique)
  }
  return anchors
}
