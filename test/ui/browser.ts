/**
 * A headless Chromium for the tests of the page, from npm or Debian. If it is missing, the tests report this and are
 * skipped; in CI, they fail.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { inject } from 'vitest'
import { orNotTested } from '../support/not-tested.ts'
import { findOrInstall, findProgram, say } from '../support/servers-programs.ts'

const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--font-render-hinting=none',
]

/** A running browser, which opens pages and collects their errors. */
export interface TestBrowser {
  readonly browser: Browser
  /** Opens a page with its own session, as in another user's browser. Its errors are added to `errors`. */
  readonly page: (options?: BrowserContextOptions) => Promise<Page>
  /** Uncaught exceptions and console errors in pages, including violations of their Content Security Policy. */
  readonly errors: readonly string[]
  readonly close: () => Promise<void>
}

/** Null if no browser is available. */
export async function openBrowser(): Promise<TestBrowser | null> {
  const found = (await fromNpm()) ?? (await fromDebian())
  const program = orNotTested(inject('testRun'), 'The web page in a browser', found)
  if (program === null) return null
  const browser = await chromium.launch({ executablePath: program.path, args: ARGS })
  const errors: string[] = []
  return {
    browser,
    errors,
    page: async (options = {}) => {
      const context = await browser.newContext({ timezoneId: 'Europe/Berlin', ...options })
      const page = await context.newPage()
      page.setDefaultTimeout(15_000)
      page.on('pageerror', (error) => errors.push(String(error.stack ?? error)))
      page.on('console', (message) => {
        // Failed requests do not count, because some tests stop the server or make it refuse requests.
        if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
          errors.push(message.text())
      })
      return page
    },
    close: async () => {
      await browser.close()
      await program.remove()
    },
  }
}

interface BrowserProgram {
  readonly path: string
  readonly remove: () => Promise<void>
}

/** The package unpacks Chromium into a private folder, so that concurrent runs never see a partial copy. */
async function fromNpm(): Promise<BrowserProgram | null> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return null
  const folder = await mkdtemp(join(tmpdir(), 'kalends-browser-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = folder
  try {
    const { default: bundled } = await import('@sparticuz/chromium')
    const path = await bundled.executablePath()
    const trial = await chromium.launch({ executablePath: path, args: ARGS })
    await trial.close()
    return { path, remove }
  } catch (error) {
    say(`the Chromium from npm does not start here: ${String(error).split('\n')[0]}`)
    await remove()
    return null
  } finally {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
  }
}

/** Finds Chromium or installs it from Debian; returns the reason if it is not available. */
async function fromDebian(): Promise<BrowserProgram | string> {
  const names = ['chromium', 'chromium-browser', 'google-chrome']
  return await findOrInstall('Chromium', ['chromium'], () => {
    const path = names.map(findProgram).find((program) => program !== null)
    return path === undefined ? null : { path, remove: async () => {} }
  })
}
