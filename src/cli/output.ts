import { stringify } from 'yaml'

export const FORMATS = ['text', 'json', 'yaml'] as const
export type Format = (typeof FORMATS)[number]

/** Answers go to stdout in the format that was asked for, everything else to stderr. */
export interface Output {
  /** The answer of a command. */
  answer(value: unknown, text: () => string): void
  /** One of several answers: a line of text or of JSON, or a document of YAML. Null text: not worth a line. */
  event(value: object, text: string | null): void
  /** For the person, whatever the format. */
  note(text: string): void
}

export function createOutput(format: Format): Output {
  const write = (text: string) => process.stdout.write(`${text}\n`)
  return {
    answer: (value, text) => {
      if (format === 'json') write(JSON.stringify(value, null, 2))
      else if (format === 'yaml') write(stringify(value).trimEnd())
      else write(text())
    },
    event: (value, text) => {
      if (format === 'json') write(JSON.stringify(value))
      else if (format === 'yaml') write(`---\n${stringify(value).trimEnd()}`)
      else if (text !== null) write(text)
    },
    note: (text) => {
      process.stderr.write(`${text}\n`)
    },
  }
}
