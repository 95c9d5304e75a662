import { type IPty, spawn } from '@lydell/node-pty'
import headless from '@xterm/headless'
import { waitUntil } from '../support/wait.js'

export interface Size {
  readonly cols: number
  readonly rows: number
}

/** A program in a terminal, and what a person sees there: its bytes as a terminal emulator shows them. */
export class Screen {
  /** The exit code. */
  readonly ended: Promise<number>
  /** Everything that was written, as it came, with `ESC` for the escape character. */
  bytes = ''
  readonly #pty: IPty
  readonly #terminal: InstanceType<typeof headless.Terminal>
  #over = false

  constructor(
    program: string,
    args: readonly string[],
    options: { readonly folder: string; readonly env: Record<string, string>; readonly size?: Size },
  ) {
    const size = options.size ?? { cols: 80, rows: 40 }
    const { folder: cwd, env } = options
    this.#terminal = new headless.Terminal({ ...size, allowProposedApi: true })
    this.#pty = spawn(program, [...args], { ...size, name: env.TERM ?? 'xterm-256color', cwd, env })
    this.#pty.onData((text) => {
      this.bytes += text.replaceAll('\u001b', 'ESC')
      this.#terminal.write(text)
    })
    this.ended = new Promise((resolve) => {
      this.#pty.onExit(({ exitCode }) => {
        this.#over = true
        resolve(exitCode)
      })
    })
  }

  /** The lines on the screen, without the empty ones below. */
  lines(): string[] {
    return this.#rows(this.#terminal.buffer.active.baseY)
  }

  /** The same, and what has scrolled away above. */
  everything(): string[] {
    return this.#rows(0)
  }

  isCursorVisible(): boolean {
    return this.bytes.lastIndexOf('ESC[?25h') >= this.bytes.lastIndexOf('ESC[?25l')
  }

  type(keys: string): void {
    this.#pty.write(keys)
  }

  resize({ cols, rows }: Size): void {
    this.#terminal.resize(cols, rows)
    this.#pty.resize(cols, rows)
  }

  async shows(what: string | RegExp | ((lines: string[]) => boolean)): Promise<void> {
    const found = () => {
      const lines = this.lines()
      if (typeof what === 'function') return what(lines)
      return typeof what === 'string' ? lines.join('\n').includes(what) : what.test(lines.join('\n'))
    }
    await waitUntil(found, { for: `${what} on the screen` }).catch((error: unknown) => {
      throw new Error(`${error}; the screen is\n${this.everything().join('\n')}`)
    })
  }

  /** Ends the program, if it has not ended. */
  async close(): Promise<void> {
    if (!this.#over) this.#pty.kill('SIGKILL')
    await this.ended
    this.#terminal.dispose()
  }

  #rows(from: number): string[] {
    const { active } = this.#terminal.buffer
    const lines: string[] = []
    for (let row = from; row < active.length; row += 1) {
      lines.push(active.getLine(row)?.translateToString(true) ?? '')
    }
    while (lines.at(-1) === '') lines.pop()
    return lines
  }
}
