import { stripVTControlCharacters } from 'node:util'
import Table from 'cli-table3'

/** Less room than this and a sentence is easier to read on lines of its own. */
const NARROWEST_LAST = 28

/**
 * Columns as wide as their widest cell, two spaces apart; the first row is the head. Empty without any other row. In a
 * width (terminal columns; null: any) the last column is folded, or stands below its row where too little room is left.
 */
export function table(rows: readonly (readonly string[])[], width: number | null = null): string[] {
  if (rows.length < 2) return []
  const widths = naturalWidths(rows)
  const last = widths.length - 1
  const left = widths.slice(0, last).reduce((sum, one) => sum + one + GAP, 0)
  const room = width === null ? Number.POSITIVE_INFINITY : width - left
  if (room >= (widths[last] ?? 0)) return draw(rows, [])
  if (room >= NARROWEST_LAST) return draw(rows, [...Array(last).fill(null), room])
  const heads = draw(
    rows.map((row) => row.slice(0, last)),
    [],
  )
  return rows.flatMap((row, index) => {
    const below = index === 0 ? '' : (row[last] ?? '')
    return [
      ...fold(heads[index] ?? '', width),
      ...(below === '' ? [] : fold(`  ${rows[0]?.[last]?.toLowerCase()}: ${below}`, width)),
    ]
  })
}

/** A sentence in a width, at its spaces; what follows its first line is indented. */
export function fold(text: string, width: number | null): string[] {
  const lines = text.split('\n')
  if (width === null || lines.every((line) => stripVTControlCharacters(line).length <= width)) return lines
  const indent = ' '.repeat((/^ */.exec(text)?.[0].length ?? 0) + 2)
  const [first = '', ...more] = draw([[text.trimStart()]], [width - indent.length])
  return [`${indent.slice(2)}${first}`, ...more.map((line) => `${indent}${line}`)]
}

/** A terminal would break lines in the middle of a word. */
export function foldLines(text: string, width: number | null): string {
  return text
    .split('\n')
    .flatMap((line) => fold(line, width))
    .join('\n')
}

const GAP = 2

function naturalWidths(rows: readonly (readonly string[])[]): number[] {
  const widths: number[] = []
  for (const row of rows) {
    for (const [column, cell] of row.entries()) {
      widths[column] = Math.max(widths[column] ?? 0, stripVTControlCharacters(cell).length)
    }
  }
  return widths
}

function draw(rows: readonly (readonly string[])[], colWidths: (number | null)[]): string[] {
  const drawn = new Table({
    chars: NO_LINES,
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
    colWidths,
    wordWrap: true,
  })
  drawn.push(
    ...rows.map((row) =>
      row.map((content, column) => ({ content, wrapOnWordBoundary: wordsFit(content, colWidths[column]) })),
    ),
  )
  return drawn
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
}

/** A word that is too long, such as the id of a machine, would be cut off: then lines break anywhere. */
function wordsFit(text: string, width: number | null | undefined): boolean {
  if (width === null || width === undefined) return true
  return stripVTControlCharacters(text)
    .split(/\s/)
    .every((word) => word.length <= width)
}

const NO_LINES = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: ' '.repeat(GAP),
}
