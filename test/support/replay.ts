import type { HistoryAndWorkflowId } from '@temporalio/client'
import { type ReplayResult, Worker } from '@temporalio/worker'
import { workflowBundle } from './bundle.js'

/** Replays histories one after another in one worker, whose start is what costs. */
export class Replayer {
  #results: AsyncIterableIterator<ReplayResult> | null = null
  #next: HistoryAndWorkflowId | null = null
  #before: Promise<unknown> = Promise.resolve()

  /** Throws what the replay ended with, where the workflow code does not do what the history says. */
  replay(given: HistoryAndWorkflowId): Promise<void> {
    const done = this.#before.then(() => this.#replay(given))
    this.#before = done.catch(() => undefined)
    return done
  }

  async close(): Promise<void> {
    await this.#before
    await this.#results?.return?.()
  }

  async #replay(given: HistoryAndWorkflowId): Promise<void> {
    this.#next = given
    this.#results ??= Worker.runReplayHistories({ workflowBundle: await workflowBundle() }, this.#histories())
    const { done, value } = await this.#results.next()
    if (done) throw new Error('the worker that replays has ended')
    if (value.error !== undefined) throw value.error
  }

  /** Asked for one more only when somebody has given it. */
  async *#histories(): AsyncGenerator<HistoryAndWorkflowId> {
    for (;;) {
      if (this.#next === null) throw new Error('asked for a history that nobody gave')
      const given = this.#next
      this.#next = null
      yield given
    }
  }
}
