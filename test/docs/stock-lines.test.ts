import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { addBudget, BUDGETS, runWorkload } from '../support/batch-pods.js'
import { RolloutBed } from '../support/rollout-bed.js'
import { startTemporal, type TemporalServer } from '../support/temporal.js'

const run = promisify(execFile)
const ROOT = new URL('../../', import.meta.url)
const CLUSTER = 'prod-eu'

/** The `temporal` lines of a page, in order. */
async function stockLines(page: string): Promise<string[]> {
  const text = await readFile(new URL(page, ROOT), 'utf8')
  return [...text.matchAll(/^temporal .*$/gm)].map((match) => match[0])
}

/** What each line must answer, by the words that tell it from the others. */
const ANSWERS: readonly [words: string, answer: RegExp][] = [
  ['--type planRollout', /"nodeCount":\s*4/],
  ['workflow start', /cluster-rollout\/prod-eu/],
  ['--name progress', /"cluster":\s*"prod-eu"/],
  ['--name pause', /[Ss]ignal/],
  ['--name resume', /[Ss]ignal/],
  ['--name setMaxUnavailable', /2 of 4 workers/],
  ['--name cancel', /[Ss]ignal/],
  ['workflow result', /"outcome":\s*"cancelled"/],
  ['search-attribute create', /added/],
  ['workflow list', /cluster-rollout\/prod-eu/],
  ['--type releaseCluster', /"state":\s*"Running"/],
  ['--type clusterStatus', /"lastError":\s*"cancelled by/],
]

describe('the stock temporal lines of the docs', () => {
  let temporal: TemporalServer
  let bed: RolloutBed
  let folder: string

  beforeAll(async () => {
    // The worker looks for search attributes when it starts, and the pages start with other things.
    const searchAttributes = { NoderollCluster: 'Keyword', NoderollPhase: 'Keyword' } as const
    temporal = await startTemporal({ searchAttributes })
    bed = await RolloutBed.open(temporal)
    await bed.startCluster({
      cluster: CLUSTER,
      workers: 4,
      delays: { stopMs: 1_000, startMs: 1_000, bootMs: 1_000, changeMs: 0 },
    })
    await bed.startWorker()
    // The rollout stands still until all have spoken to it.
    await runWorkload(bed.kube.api, 'Deployment', 'web', { on: 'w-1' })
    await addBudget(bed.kube.api, 'web', 1)
    folder = await mkdtemp(join(tmpdir(), 'noderoll-docs-'))
    const settings = parse(await readFile(new URL('temporal.yaml', ROOT), 'utf8'))
    Object.assign(settings.env.local, {
      address: bed.address,
      namespace: bed.namespace,
      'task-queue': bed.taskQueue,
    })
    await writeFile(join(folder, 'temporal.yaml'), stringify(settings))
    const target = { ...bed.target(), cluster: CLUSTER }
    const pools = { worker: { offering: ['large', 'huge'], rootDiskGiB: 80, maxUnavailable: '10%' } }
    await writeFile(
      join(folder, 'rollout.json'),
      JSON.stringify({ ...target, pools, rollout: true, verify: { settle: 0 } }),
    )
    await writeFile(join(folder, 'target.json'), JSON.stringify(target))
  })
  afterAll(async () => {
    await bed.clean()
    await bed.close()
    await temporal.stop()
    await rm(folder, { recursive: true, force: true })
  })

  it('CKS-27 answer as the pages say', { timeout: 120_000 }, async () => {
    const lines = [...(await stockLines('README.md')), ...(await stockLines('docs/operating.md'))]
    if (bed.temporalCli === undefined) throw new Error('there is no temporal command to try the lines with')

    const answered: string[] = []
    for (const line of lines) {
      const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map((match) => match[1] ?? match[2] ?? '').slice(1)
      const { stdout, stderr } = await run(bed.temporalCli, words, { cwd: folder })
      const [what, answer] = ANSWERS.find(([told]) => line.includes(told)) ?? [
        line,
        /a line that no answer is known for/,
      ]
      expect(`${what}: ${stdout}${stderr}`).toMatch(answer)
      answered.push(what)
      if (what === '--name cancel') await bed.kube.api.ok('DELETE', `${BUDGETS}/web`)
    }

    expect(answered).toEqual(ANSWERS.map(([what]) => what))
    // It is replayed like those that the bed has started.
    await bed.workflows.add(bed.client, `cluster-rollout/${CLUSTER}`)
  })
})
