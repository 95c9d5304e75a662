const MOST_LINES = 350
const MEDIAN_BELOW = 120

export const name = 'file sizes'

/** @param {import('./files.mjs').ProjectFile[]} files */
export function problems(files) {
  const all = files
    .filter(({ path }) => /^(src|test|bench|scripts)\/.*\.(ts|mjs)$/.test(path))
    .map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }))
    .sort((a, b) => a.lines - b.lines)
  const sizes = all.filter(({ path }) => path.startsWith('src/'))
  const tooLong = all
    .filter(({ lines }) => lines > MOST_LINES)
    .map(({ path, lines }) => `${path}: ${lines} lines, at most ${MOST_LINES}: split it by concept`)
  const median = sizes[Math.floor(sizes.length / 2)]?.lines ?? 0
  if (median < MEDIAN_BELOW) return tooLong
  return [...tooLong, `src: the median file has ${median} lines; it is to stay below ${MEDIAN_BELOW}`]
}
