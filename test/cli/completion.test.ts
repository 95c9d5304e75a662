import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CommandBed } from './command.js'
import { Screen } from './screen.js'
import { ensureShell } from './shells.js'

describe('noderoll completion', () => {
  let bed: CommandBed
  const files: Record<string, string> = {}

  beforeAll(async () => {
    bed = await CommandBed.open()
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { code, stdout, stderr } = await bed.run(['completion', shell])
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      files[shell] = await bed.file(`completion.${shell}`, stdout)
    }
  })
  afterAll(() => bed.close())

  /** What bash offers for the last word. */
  async function bash(...words: string[]): Promise<string[]> {
    const harness = `
      set -u
      source "$0"
      COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
      $(complete -p noderoll | sed 's/.*-F \\([^ ]*\\).*/\\1/')
      printf '%s\\n' "\${COMPREPLY[@]-}"`
    const ended = await bed.runProgram('bash', ['-c', harness, files.bash ?? '', 'noderoll', ...words])
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    return ended.stdout.split('\n').filter((line) => line !== '')
  }

  it.each<[string, string[], string[]]>([
    ['commands', ['st'], ['start', 'status']],
    ['commands after an option of all', ['--env', 'start', 're'], ['resume', 'release']],
    ['options of a command', ['start', '--w'], ['--watch', '--workflow-id']],
    ['options of all, after a command', ['watch', 'prod', '--en'], ['--env', '--env-file']],
    ['no options of another command', ['watch', 'prod', '--no'], []],
    ['choices of an option', ['watch', 'prod', '-o', ''], ['text', 'json', 'yaml']],
    ['choices of an option with =', ['watch', '--output', '=', 'j'], ['json']],
    ['choices right after the =', ['watch', '--output', '='], ['text', 'json', 'yaml']],
    ['choices of an argument', ['completion', ''], ['bash', 'zsh', 'fish']],
    ['commands, for help', ['help', 'pl'], ['plan']],
    ['nothing for a value that only a person knows', ['start', '--by', 's'], []],
  ])('bash offers %s', async (_, words, offered) => {
    expect(await bash(...words)).toEqual(offered)
  })

  it('bash offers every command that help names', async () => {
    const { stdout } = await bed.run(['--help'])
    const named = [...(/Commands:\n(.*?)\n\n/s.exec(stdout)?.[1] ?? '').matchAll(/^ {2}([a-z-]+)/gm)].map(
      ([, name]) => name,
    )

    expect(named.length).toBeGreaterThan(10)
    expect(await bash('')).toEqual(named)
  })

  it('bash offers files for a spec, typed in a terminal', async () => {
    await bed.file('my rollout.yaml', '')
    const { PATH = '' } = process.env
    const screen = new Screen('bash', ['--norc', '--noprofile', '-i'], {
      folder: bed.folder,
      env: { PATH, HOME: bed.folder, PS1: '$ ' },
    })
    await screen.shows(/^\$ $/)
    screen.type(`source ${files.bash}\n`)
    await screen.shows(/\n\$ $/)

    screen.type('noderoll start --file my\t')

    await screen.shows('rollout.yaml')
    expect(screen.lines().at(-1)?.trim()).toBe('$ noderoll start --file my\\ rollout.yaml')
    await screen.close()
  })

  it.each(['zsh', 'fish'] as const)('%s can read its script', { timeout: 400_000 }, async (shell) => {
    await ensureShell(shell)

    expect(await bed.runProgram(shell, ['-n', files[shell] ?? ''])).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    })
  })

  it('names the shells when it is asked for another one', async () => {
    expect(await bed.run(['completion', 'tcsh'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Allowed choices are bash, zsh, fish'),
    })
  })
})
