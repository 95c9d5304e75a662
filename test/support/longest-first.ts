import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files of two minutes and more. One of them begun last would keep all lanes but one idle until its end. */
const LONGEST = [
  'test/rollout/crash.test.ts',
  'test/chaos/chaos.test.ts',
  'test/rollout/races.test.ts',
  'test/rollout/real-etcd.test.ts',
  'test/rollout/real-etcd-views.test.ts',
  'test/rollout/verify.test.ts',
  'test/rollout/azure-crash.test.ts',
]

/** The longest files first, in this order also where no run before has measured them: in a fresh clone. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const found = LONGEST.findIndex((path) => moduleId.endsWith(path))
      return found < 0 ? LONGEST.length : found
    }
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
  }
}
