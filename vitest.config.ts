import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/support/longest-first.js'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    // Evaluated for each test file: what must not outlive it (the files share processes).
    setupFiles: ['test/support/each-file.ts'],
    pool: 'forks',
    // A young generation of 1 MiB is collected all the time.
    execArgv: ['--max-semi-space-size=32'],
    // To load everything anew for each file took a fifth of all processor time.
    isolate: false,
    // Five of everything real (test/support/global-setup.ts): most tests wait for something most of the time.
    maxWorkers: 5,
    // As many as the chaos test has lanes.
    maxConcurrency: 5,
    fileParallelism: true,
    sequence: { sequencer: LongestFirst },
    testTimeout: 120_000,
    hookTimeout: 120_000,
    retry: 0,
    reporters: ['default'],
  },
})
