import { inspect } from 'node:util'
import { NoderollError } from '../client/noderoll-error.js'
import { sayProblems } from '../spec/parse.js'
import { EXIT, EXIT_OF_ERROR, type ExitCode } from './exit-codes.js'
import { foldLines } from './table.js'
import { terminalWidth } from './terminal.js'

/** An error in a sentence, several mistakes one a line; never a stack, unless `NODEROLL_DEBUG` asks for it. */
export function sayError(error: unknown): string {
  if (process.env.NODEROLL_DEBUG && error instanceof Error) return inspect(error)
  return foldLines(sentences(error), terminalWidth(process.stderr))
}

function sentences(error: unknown): string {
  if (!(error instanceof NoderollError)) {
    const message = error instanceof Error ? error.message : String(error)
    return `noderoll: ${message} (this should not have happened; NODEROLL_DEBUG=1 shows where)`
  }
  if (error.problems.length < 2) return `noderoll: ${error.message}`
  const [head] = error.message.split(': ')
  return [`noderoll: ${head}:`, ...error.problems.map((problem) => `  ${sayProblems([problem])}`)].join('\n')
}

export function exitCodeOf(error: unknown): ExitCode {
  return error instanceof NoderollError ? EXIT_OF_ERROR[error.kind] : EXIT.failed
}
