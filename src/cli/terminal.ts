/** Can what was written be drawn over? A build's log and a dumb terminal keep every frame. */
export function isLiveTerminal(): boolean {
  const { CI, TERM } = process.env
  const inBuild = CI !== undefined && !['', '0', 'false'].includes(CI)
  return process.stdout.isTTY === true && TERM !== 'dumb' && !inBuild
}

/** Columns of a terminal; null where lines go elsewhere, whole. */
export function terminalWidth(stream: NodeJS.WriteStream = process.stdout): number | null {
  // A terminal that does not know its size says 0.
  return stream.isTTY === true && stream.columns > 0 ? stream.columns : null
}

/** Characters beyond ASCII come out as such; by the locale, as everything in a terminal does. */
export function isUnicodeTerminal(): boolean {
  const { LANG, LC_ALL, LC_CTYPE } = process.env
  return /utf-?8/i.test(LC_ALL || LC_CTYPE || LANG || '')
}
