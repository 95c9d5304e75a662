import { Worker } from '@temporalio/worker'

// Loaded before a worker process: it fails while working, and something keeps the process alive, as the SDK does when a
// stop was not graceful.
Worker.prototype.run = async () => {
  setInterval(() => undefined, 1_000)
  throw new Error('as if an activity had ignored the stop')
}
