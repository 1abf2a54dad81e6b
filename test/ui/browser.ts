/**
 * A real headless Chromium for the tests of the page: the one that comes from npm, or Debian's. Where there is none
 * the tests say so and are left out, except on CI.
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

/** How to end it, and its pages. */
export interface TestBrowser {
  readonly browser: Browser
  /** A page of its own session, as another person's browser; errors in it fail the test that asks for them. */
  readonly page: (options?: BrowserContextOptions) => Promise<Page>
  /** What went wrong in pages: exceptions, and what the policy of the page forbids. */
  readonly errors: readonly string[]
  readonly close: () => Promise<void>
}

/** Null: there is none on this machine, and none can be had. */
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
        // That a server is away or refuses is what some tests are about.
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

/** It unpacks itself; into a folder of its own, so that runs beside each other do not meet half of it. */
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

/** A text says why there is none. */
async function fromDebian(): Promise<BrowserProgram | string> {
  const names = ['chromium', 'chromium-browser', 'google-chrome']
  return await findOrInstall('Chromium', ['chromium'], () => {
    const path = names.map(findProgram).find((program) => program !== null)
    return path === undefined ? null : { path, remove: async () => {} }
  })
}
