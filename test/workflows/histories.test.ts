import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker'
import { describe, expect, it } from 'vitest'
import { workflowBundle } from '../support/bundle.js'

// Each replay is a worker of its own, and tells its states.
Runtime.install({ logger: new DefaultLogger('ERROR') })

const FOLDER = fileURLToPath(new URL('../histories/', import.meta.url))
const files = (await readdir(FOLDER)).filter((name) => name.endsWith('.json.gz')).sort()

describe('histories of rollouts that earlier versions made', () => {
  it('there are some', () => {
    expect(files.length).toBeGreaterThan(5)
  })

  it.each(files)('%s replays', async (file) => {
    const history = JSON.parse(gunzipSync(await readFile(FOLDER + file)).toString())

    const replayed = Worker.runReplayHistory(
      { workflowBundle: await workflowBundle() },
      history,
      'cluster-rollout/prod',
    )

    await expect(replayed).resolves.toBeUndefined()
  })
})
