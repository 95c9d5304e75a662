/** The end of a command's help: command lines, each with what it is for where it does not say so itself. */
export function examples(lines: Readonly<Record<string, string>>): string {
  const width = Math.max(...Object.keys(lines).map((line) => line.length))
  return [
    '',
    Object.keys(lines).length === 1 ? 'Example:' : 'Examples:',
    ...Object.entries(lines).map(([line, why]) =>
      why === '' ? `  ${line}` : `  ${line.padEnd(width)}  # ${why}`,
    ),
  ].join('\n')
}
