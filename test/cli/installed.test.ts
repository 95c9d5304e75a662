import { chmod, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CommandBed } from './command.js'

const MAIN = new URL('../../src/cli/main.ts', import.meta.url)

/** As npm installs it: a file that the system starts by its first line, which tsc keeps. */
describe('noderoll, installed', () => {
  let bed: CommandBed

  beforeAll(async () => {
    bed = await CommandBed.open({ PATH: `${dirname(process.execPath)}:${process.env.PATH}` })
  })
  afterAll(() => bed.close())

  it('has --env-file for itself: Node, which has an option of that name, does not see it', async () => {
    const [firstLine] = (await readFile(MAIN, 'utf8')).split('\n')
    const program = await bed.file(
      'noderoll.mjs',
      `${firstLine}
import { tsImport } from '${import.meta.resolve('tsx/esm/api')}'
await tsImport('${MAIN.href}', import.meta.url)
`,
    )
    await chmod(program, 0o755)

    expect(await bed.runProgram(program, ['progress', 'prod', '--env-file', 'absent.yaml'])).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'noderoll: the settings cannot be used: absent.yaml: does not exist; name another file with --env-file\n',
    })
  })
})
