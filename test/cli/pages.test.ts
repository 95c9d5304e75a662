import { readdir, readFile } from 'node:fs/promises'
import { CommanderError } from 'commander'
import { describe, expect, it } from 'vitest'
import { createProgram } from '../../src/cli/program.js'

const ROOT = new URL('../../', import.meta.url)

/** Words of the pages that stand for something, where not anything will do. */
const STANDS_FOR: Readonly<Record<string, string>> = { COMMAND: 'start', SHELL: 'bash', COUNT: '2', N: '1' }

async function pages(): Promise<string[]> {
  const docs = await readdir(new URL('docs/', ROOT), { recursive: true })
  return ['README.md', ...docs.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)].sort()
}

/** The `noderoll …` lines of a page: in blocks of code, and between backticks. */
function linesOf(text: string): string[] {
  const fenced = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block)
  const rest = text.replaceAll(/^```.*\n[\s\S]*?^```$/gm, '')
  const indented = [...rest.matchAll(/^ {4}.*$/gm)].map(([line]) => line)
  const inBlocks = [...fenced, ...indented].flatMap((block) => [
    ...block.matchAll(/(?:^|[\s(])noderoll (?:-- )?([^#|>)\n]+)/g),
  ])
  const inText = [...rest.matchAll(/`(?:npm run )?noderoll (?:-- )?([^`]+)`/g)]
  const lines = [...inBlocks, ...inText].map(([, line = '']) => line.replaceAll(/\s+/g, ' ').trim())
  // What `npm run noderoll --` is followed by is not said.
  return lines.filter((line) => line !== '--')
}

function argsOf(line: string): string[] {
  // Brackets around what may be left out: all of it must be possible.
  const words = line.replaceAll(/[[\]]/g, '').match(/'[^']*'|\S+/g) ?? []
  return words.map((word) => STANDS_FOR[word] ?? word.replaceAll("'", ''))
}

/** Nothing when the line can be typed; else what the command would say. */
async function refusal(args: readonly string[]): Promise<string | null> {
  const program = createProgram(async () => undefined)
  let said = ''
  for (const command of [program, ...program.commands]) {
    command.configureOutput({
      writeOut: () => undefined,
      outputError: (text) => {
        said += text
      },
    })
  }
  const [name] = args
  // A command that is only mentioned.
  if (args.length === 1 && program.commands.some((command) => command.name() === name)) return null
  try {
    await program.parseAsync(args, { from: 'user' })
    const command = program.commands.find((one) => one.name() === name)
    // `plan` would take a file for the name of a cluster.
    const isFile = (word: string) => /\.(ya?ml|json)$/.test(word)
    return command?.args.some(isFile) ? 'a spec without --file' : null
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return null
    return said || String(error)
  }
}

describe('the noderoll lines of the documentation', async () => {
  const lines = await Promise.all(
    (await pages()).map(async (page) => {
      const text = await readFile(new URL(page, ROOT), 'utf8')
      return linesOf(text).map((line) => [page, line] as const)
    }),
  )

  it.each(lines.flat())('%s: noderoll %s', async (_, line) => {
    expect(await refusal(argsOf(line))).toBeNull()
  })

  it('are found, and a wrong one is seen', async () => {
    expect(new Set(lines.flat().map(([page]) => page)).size).toBeGreaterThan(5)
    const page =
      'Run `noderoll plan\nprod` or\n\n    x $(noderoll strat a) # b\n\n`noderoll plan a.yaml`\n\n```sh\nnoderoll watch b --nope\n```\n'
    expect(linesOf(page)).toEqual(['watch b --nope', 'strat a', 'plan prod', 'plan a.yaml'])
    const wrong = await Promise.all(linesOf(page).map((line) => refusal(argsOf(line))))
    expect(wrong).toEqual([
      expect.stringContaining("unknown option '--nope'"),
      expect.stringContaining("unknown command 'strat'"),
      null,
      'a spec without --file',
    ])
  })
})
