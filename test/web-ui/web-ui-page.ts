import { join } from 'node:path'
import { type Browser, chromium, type Locator, type Page } from 'playwright-core'
import { ensureChromium } from '../../scripts/chromium.mjs'
import { waitUntil } from '../support/wait.js'

type Tab = 'timeline' | 'history' | 'user-metadata' | 'search-attributes'

const LONGEST_WAIT_MS = 40_000

/** What a person sees who opens one workflow in Temporal's Web UI. Every look loads the page anew. */
export class WebUiPage {
  private readonly browser: Browser
  private readonly page: Page
  private readonly url: string

  private constructor(browser: Browser, page: Page, url: string) {
    this.browser = browser
    this.page = page
    this.url = url
  }

  static async open(uiUrl: string, workflowId: string, runId: string): Promise<WebUiPage> {
    const browser = await chromium.launch({
      executablePath: await ensureChromium(),
      // Tests run in containers, as root: the sandbox works in neither, and the pages are our own.
      args: ['--no-sandbox', '--disable-dev-shm-usage'],
      timeout: LONGEST_WAIT_MS,
    })
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
    page.setDefaultTimeout(LONGEST_WAIT_MS)
    return new WebUiPage(
      browser,
      page,
      `${uiUrl}/namespaces/default/workflows/${encodeURIComponent(workflowId)}/${runId}`,
    )
  }

  async close(): Promise<void> {
    await this.browser.close()
  }

  /** Loads a tab and gives its text as soon as everything wanted is in it, wherever that is on the page. */
  async look(tab: Tab, wanted: readonly string[]): Promise<string> {
    await this.page.goto(`${this.url}/${tab}`)
    let text = ''
    await waitUntil(
      async () => {
        text = await this.text()
        return wanted.every((words) => text.includes(words))
      },
      { for: wanted.join(', '), timeoutMs: LONGEST_WAIT_MS, everyMs: 100 },
    ).catch(() => {
      const missing = wanted.filter((words) => !text.includes(words))
      throw new Error(`the tab ${tab} does not show «${missing.join('», «')}»; it shows:\n${text}`)
    })
    return text
  }

  /** The table in the current details that are shown, a list of cells for each line. */
  async table(): Promise<string[][]> {
    const rows = await this.currentDetails().locator('table').first().getByRole('row').all()
    return await Promise.all(rows.map((row) => row.locator('th, td').allInnerTexts()))
  }

  /** The event of the history that has all these words. */
  async event(...words: string[]): Promise<string> {
    let rows = this.page.getByRole('row')
    for (const hasText of words) rows = rows.filter({ hasText })
    return plain((await rows.first().allInnerTexts()).join(' '))
  }

  /** For the documentation: into the folder that NODEROLL_WEB_UI_PICTURES names, if it names one. */
  async picture(name: string, from: Locator = this.page.locator('body')): Promise<void> {
    const folder = process.env.NODEROLL_WEB_UI_PICTURES
    if (folder === undefined) return
    await from.evaluate((element) => element.scrollIntoView())
    await this.page.screenshot({ path: join(folder, name), animations: 'disabled' })
  }

  heading(name: string): Locator {
    return this.page.getByRole('heading', { name })
  }

  private currentDetails() {
    return this.page.frameLocator('#user-metadata-current-details')
  }

  /** Details are in frames of their own. */
  private async text(): Promise<string> {
    const texts = await Promise.all(
      // One that is being replaced has nothing to say.
      this.page.frames().map((frame) =>
        frame
          .locator('body')
          .allInnerTexts()
          .catch(() => []),
      ),
    )
    return plain(texts.flat().join('\n'))
  }
}

/** As read aloud: what separates words is one space. */
function plain(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}
