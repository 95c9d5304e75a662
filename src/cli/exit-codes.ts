import type { ErrorKind } from '../client/noderoll-error.js'

/** What a script can tell from the exit code; docs/cli.md has the same table. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  refused: 3,
  unreachable: 4,
  cancelled: 5,
  notFound: 6,
  /** As a shell says it of a program that was interrupted. */
  interrupted: 130,
} as const

/** The end of `noderoll --help`. */
export const EXIT_CODES_HELP = `
Exit codes:
  0    done
  1    failed: the rollout stopped, or was terminated
  2    a command line, settings or a spec that cannot be used; nothing changed
  3    refused, or the cluster is busy; nothing changed
  4    Temporal cannot be reached, refuses or fails, or no worker answers
  5    cancelled
  6    there is no such rollout, or it has ended
  130  interrupted while watching; the rollout goes on`

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** Carries out what a command does and keeps its exit code. */
export type Run = (act: () => Promise<ExitCode>) => Promise<void>

export const EXIT_OF_ERROR: Readonly<Record<ErrorKind, ExitCode>> = {
  usage: EXIT.usage,
  invalidSpec: EXIT.usage,
  busy: EXIT.refused,
  refused: EXIT.refused,
  notFound: EXIT.notFound,
  unreachable: EXIT.unreachable,
  denied: EXIT.unreachable,
  serverError: EXIT.unreachable,
  noWorker: EXIT.unreachable,
  failed: EXIT.failed,
  cancelled: EXIT.cancelled,
}
