const CODES = { red: 31, green: 32, yellow: 33, bold: 1 } as const

/** Colours where a person looks on; `NO_COLOR` with any value switches them off (no-color.org). */
export function paint(color: keyof typeof CODES, text: string): string {
  const { NO_COLOR, TERM } = process.env
  const wanted = process.stdout.isTTY === true && !NO_COLOR && TERM !== 'dumb'
  return wanted ? `\u001b[${CODES[color]}m${text}\u001b[0m` : text
}
