import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files of minutes, and how many others begin before them. Begun last, one would keep all lanes but its own idle. */
const EARLY: readonly (readonly [path: string, after: number])[] = [
  ['test/rollout/crash.test.ts', 0],
  ['test/chaos/chaos.test.ts', 1],
  // Real control planes, as those of the chaos: not at the same time.
  ['test/rollout/races.test.ts', 6],
  ['test/rollout/real-etcd-views.test.ts', 12],
]

/** The longest files early, also where no run before has measured them: in a fresh clone. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    for (const [path, after] of EARLY) {
      const at = sorted.findIndex(({ moduleId }) => moduleId.endsWith(path))
      if (at >= 0) sorted.splice(after, 0, ...sorted.splice(at, 1))
    }
    return sorted
  }
}
