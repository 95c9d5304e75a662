import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compiled } from '../support/compiled.js'
import { waitUntil } from '../support/wait.js'
import { Screen, type Size } from './screen.js'

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A folder of its own, in which commands run as if on a fresh machine: no settings but those that are given. */
export class CommandBed {
  readonly folder: string
  readonly #main: string
  readonly #env: Readonly<Record<string, string>>
  readonly #running = new Set<CommandProcess>()
  readonly #screens: Screen[] = []

  private constructor(folder: string, main: string, env: Readonly<Record<string, string>>) {
    this.folder = folder
    this.#main = main
    this.#env = env
  }

  static async open(env: Readonly<Record<string, string>> = {}): Promise<CommandBed> {
    return new CommandBed(
      await mkdtemp(join(tmpdir(), 'noderoll-cli-')),
      await compiled('src/cli/main.ts'),
      env,
    )
  }

  async close(): Promise<void> {
    await Promise.all([...this.#running].map((one) => one.kill()))
    await Promise.all(this.#screens.map((one) => one.close()))
    await rm(this.folder, { recursive: true, force: true })
  }

  /** The path of a new file in the folder. */
  async file(name: string, content: string | object): Promise<string> {
    const path = join(this.folder, name)
    await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content))
    return path
  }

  /** Starts `noderoll …`. */
  start(args: readonly string[], env: Readonly<Record<string, string>> = {}): CommandProcess {
    return this.#spawn(process.execPath, [this.#main, ...args], env)
  }

  /** Runs `noderoll …` to its end. */
  async run(args: readonly string[], env: Readonly<Record<string, string>> = {}, stdin = ''): Promise<Ended> {
    const command = this.start(args, env)
    command.write(stdin)
    return command.ended
  }

  /** `noderoll …` in a terminal. */
  screen(args: readonly string[], env: Readonly<Record<string, string>> = {}, size?: Size): Screen {
    const screen = new Screen(process.execPath, [this.#main, ...args], {
      folder: this.folder,
      env: this.#environment(env),
      ...(size === undefined ? {} : { size }),
    })
    this.#screens.push(screen)
    return screen
  }

  /** Runs another program to its end, in the same folder and with as few settings. */
  async runProgram(program: string, args: readonly string[]): Promise<Ended> {
    const command = this.#spawn(program, args, {})
    command.write('')
    return command.ended
  }

  #spawn(program: string, args: readonly string[], env: Readonly<Record<string, string>>): CommandProcess {
    const child = spawn(program, args, { cwd: this.folder, env: this.#environment(env) })
    const command = new CommandProcess(child)
    this.#running.add(command)
    void command.ended.then(() => this.#running.delete(command))
    return command
  }

  #environment(env: Readonly<Record<string, string>>): Record<string, string> {
    const { PATH = '' } = process.env
    return { PATH, HOME: this.folder, USER: 'tester', ...this.#env, ...env }
  }
}

export class CommandProcess {
  readonly ended: Promise<Ended>
  stdout = ''
  stderr = ''
  readonly #child: ChildProcess

  constructor(child: ChildProcess) {
    this.#child = child
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text
    })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
    })
    this.ended = once(child, 'close').then(([code]) => ({
      code: code as number | null,
      stdout: this.stdout,
      stderr: this.stderr,
    }))
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  write(text: string): void {
    // A command that ended before it read everything is no mistake of the test.
    this.#child.stdin?.on('error', () => undefined).end(text)
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.ended
  }

  /** Waits until it has said something. */
  async said(what: string | RegExp, stream: 'stdout' | 'stderr' = 'stdout'): Promise<void> {
    const found = () => (typeof what === 'string' ? this[stream].includes(what) : what.test(this[stream]))
    await waitUntil(() => found(), { for: `${what} on ${stream}; so far: ${this[stream]}` })
  }
}
