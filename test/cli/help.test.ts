import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { EXIT } from '../../src/cli/exit-codes.js'
import { createProgram } from '../../src/cli/program.js'

/** What a command prints for `--help`. */
function helpOf(command: Command): string {
  let help = ''
  command.configureOutput({
    writeOut: (text) => {
      help += text
    },
    getOutHelpWidth: () => 80,
    getOutHasColors: () => false,
  })
  command.outputHelp()
  return help
}

const program = () => createProgram(async () => undefined)
const commands = program().commands.map((command) => [command.name(), helpOf(command)] as const)

/** The command lines under `Examples:`, without the shell around them. */
function examplesIn(help: string): string[][] {
  return (help.split(/Examples?:\n/)[1] ?? '')
    .split('\n')
    .flatMap((line) => /noderoll ([^#|>)]*)/.exec(line)?.[1]?.trim() ?? [])
    .map((line) => line.split(/ +/))
}

describe('the help of the command', () => {
  it.each(commands)('of %s teaches by examples that can be typed', async (name, help) => {
    const examples = examplesIn(help)

    expect(examples.length).toBeGreaterThan(0)
    for (const args of examples) {
      expect(args[0]).toBe(name)
      await expect(program().parseAsync(args, { from: 'user' })).resolves.toBeDefined()
    }
  })

  it.each([['noderoll', helpOf(program())] as const, ...commands])(
    'of %s fits a terminal of 80 columns',
    (_, help) => {
      expect(help.split('\n').filter((line) => line.length > 80)).toEqual([])
    },
  )

  it('and docs/cli.md name every exit code', async () => {
    const docs = await readFile(new URL('../../docs/cli.md', import.meta.url), 'utf8')
    const codes = Object.values(EXIT).map(String)

    const listed = helpOf(program()).split('Exit codes:')[1] ?? ''
    expect([...listed.matchAll(/^ {2}(\d+) {2}/gm)].map(([, code]) => code)).toEqual(codes)
    expect([...docs.matchAll(/^\| (\d+) \| /gm)].map(([, code]) => code)).toEqual(codes)
  })

  it('and docs/cli.md name every command and every option', async () => {
    const docs = await readFile(new URL('../../docs/cli.md', import.meta.url), 'utf8')
    const table = docs.split('\n').filter((line) => line.startsWith('| `noderoll '))

    for (const command of program().commands) {
      const row = table.find((line) => line.includes(`\`noderoll ${command.name()}`)) ?? ''
      expect(row, command.name()).not.toBe('')
      // What several commands have is said once, below the table.
      const own = command.options.filter(({ long }) => long !== '--workflow-id')
      for (const { long } of own) expect(row, command.name()).toContain(long)
    }
    for (const { long } of program().options) expect(docs).toContain(long)
  })
})
