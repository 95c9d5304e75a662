import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'
import '../support/quiet-runtime.js'
import { Replayer } from '../support/replay.js'

const FOLDER = fileURLToPath(new URL('../histories/', import.meta.url))
const files = (await readdir(FOLDER)).filter((name) => name.endsWith('.json.gz')).sort()

const replayer = new Replayer()
afterAll(() => replayer.close())

describe('histories of rollouts that earlier versions made', () => {
  it('there are some', () => {
    expect(files.length).toBeGreaterThan(5)
  })

  it.each(files)('%s replays', async (file) => {
    const history = JSON.parse(gunzipSync(await readFile(FOLDER + file)).toString())

    const replayed = replayer.replay({ history, workflowId: 'cluster-rollout/prod' })

    await expect(replayed).resolves.toBeUndefined()
  })
})
