#!/usr/bin/env -S node --
// The two dashes: Node would take `--env-file temporal.yaml` for an option of its own, wherever it stands.
import { EXIT } from './exit-codes.js'
import { runCli } from './program.js'

// Whoever reads may have seen enough: `noderoll watch prod-eu | head` is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(EXIT.interrupted)
})

const code = await runCli(process.argv.slice(2))
await new Promise((resolve) => process.stdout.write('', resolve))
// A worker that could not stop gracefully and a connection that hangs would keep the process for ever.
process.exit(code)
