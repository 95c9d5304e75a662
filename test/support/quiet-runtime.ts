import { DefaultLogger, Runtime } from '@temporalio/worker'

// Once a process, which test files share. Only what is unexpected: tests assert on the world, not on logs.
Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { forward: {} } } })
