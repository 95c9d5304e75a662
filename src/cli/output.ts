import { stringify } from 'yaml'
import { foldLines } from './table.js'
import { isLiveTerminal, terminalWidth } from './terminal.js'

export const FORMATS = ['text', 'json', 'yaml'] as const
export type Format = (typeof FORMATS)[number]

/** Answers go to stdout in the format that was asked for, everything else to stderr. */
export interface Output {
  /** A person looks at a terminal whose last lines can be drawn over. */
  readonly live: boolean
  /** The answer of a command. */
  answer(value: unknown, text: () => string): void
  /** One of several answers: lines of text, where it has any; a line of JSON; or a document of YAML. */
  event(value: object, text: string): void
  /** For the person, whatever the format. */
  note(text: string): void
}

export function createOutput(format: Format): Output {
  const write = (text: string) => process.stdout.write(`${text}\n`)
  const writeText = (text: string) => write(foldLines(text, terminalWidth()))
  return {
    live: format === 'text' && isLiveTerminal(),
    answer: (value, text) => {
      if (format === 'json') write(JSON.stringify(value, null, 2))
      else if (format === 'yaml') write(stringify(value).trimEnd())
      else writeText(text())
    },
    event: (value, text) => {
      if (format === 'json') write(JSON.stringify(value))
      else if (format === 'yaml') write(`---\n${stringify(value).trimEnd()}`)
      else if (text !== '') writeText(text)
    },
    note: (text) => {
      process.stderr.write(`${foldLines(text, terminalWidth(process.stderr))}\n`)
    },
  }
}
