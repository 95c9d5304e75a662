import { afterAll } from 'vitest'
import { runFileChecks } from './file-checks.js'

// Vitest's setup file, evaluated for each test file. They share processes and modules, one file after another: what one of
// them puts into the environment must be gone for the next.
const environment = { ...process.env }

afterAll(async () => {
  try {
    await runFileChecks()
  } finally {
    for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name]
    Object.assign(process.env, environment)
  }
})
