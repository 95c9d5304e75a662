#!/usr/bin/env node
import { runCli } from './program.js'

const code = await runCli(process.argv.slice(2))
// A worker that could not stop gracefully and a connection that hangs would keep the process for ever.
process.exit(code)
