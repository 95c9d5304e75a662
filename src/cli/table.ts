/** Columns as wide as their widest cell, two spaces apart; the first row is the head. Empty without any other row. */
export function table(rows: readonly (readonly string[])[]): string[] {
  if (rows.length < 2) return []
  const widths: number[] = []
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length)
  }
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
