import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    // Two of everything real (test/support/global-setup.ts), so that two files may run at once.
    maxWorkers: 2,
    // As many as the chaos test has lanes.
    maxConcurrency: 5,
    fileParallelism: true,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    retry: 0,
    reporters: ['default'],
  },
})
