/** axe checks every page in both themes and two sizes, with and without rows; no page overflows horizontally. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Kalends, task } from '../../src/index.ts'
import { databases, type TestDatabase } from '../support/databases.ts'
import { type Application, startApplication } from './application.ts'
import { openBrowser, type TestBrowser } from './browser.ts'
import { fill, states, TASKS } from './sample.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const SIZES = [
  { width: 390, height: 844 },
  { width: 1280, height: 800 },
]
const THEMES = ['light', 'dark'] as const

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

const under = databases.find(({ kind }) => kind === 'sqlite')

describe.skipIf(under === undefined)('every page', () => {
  let browser: TestBrowser | null = null
  let database: TestDatabase
  let application: Application
  let paths: readonly (readonly [string, ((page: Page) => Promise<unknown>)?])[] = []

  beforeAll(async () => {
    if (under === undefined) return
    browser = await openBrowser()
    database = await under.fresh()
    const kalends = await Kalends.open(database.url)
    const ids = await fill(kalends, database, new Date())
    await kalends.stop()
    application = await startApplication(database.url, { tasks: TASKS })
    const running = await application.kalends.jobs.submit(task('slow'), { steps: 1000, ms: 200 })
    const [failed] = (await application.kalends.jobs.list({ state: 'failed' })).items
    await states(database, ids)
    const type = (text: string) => async (page: Page) => {
      await page.getByLabel('Timer', { exact: true }).fill(text)
      await page.locator('#timer-check > *').first().waitFor()
    }
    paths = [
      [''],
      ['schedules'],
      ['schedules?q=nothing+is+like+this'],
      ['schedules', (page) => page.getByLabel('Select all rows shown').check()],
      ['schedules/backup-orders'],
      ['schedules/does-not-exist'],
      ['schedules/erase-old-logs'],
      ['schedules/backup-orders', (page) => page.getByRole('button', { name: 'Delete' }).click()],
      ['schedules/new'],
      ['schedules/new', type('Mon..Fry 9:00')],
      ['schedules/new', type('02:30 Europe/Berlin')],
      ['schedules/erase-old-logs/edit', (page) => page.getByText('Policies:').click()],
      ['calendar'],
      ['calendar', (page) => page.locator('.week .cell.is-now').click()],
      ['jobs'],
      ['jobs?state=failed'],
      ['jobs?by=error'],
      [`jobs/${running}`],
      [`jobs/${failed?.id ?? ''}`],
      ['workers'],
      ['nowhere/at/all'],
      ['', (page) => page.keyboard.press('?')],
    ]
  })

  afterAll(async () => {
    await application?.stop()
    await database?.drop()
    await browser?.close()
  })

  it.each(SIZES.flatMap((size) => THEMES.map((theme) => ({ ...size, theme }))))(
    'has no axe violations and does not overflow at $width px in the $theme theme',
    async ({ width, height, theme }) => {
      if (browser === null) return
      const page = await browser.page({
        viewport: { width, height },
        colorScheme: theme,
        reducedMotion: 'reduce',
      })
      const problems: string[] = []
      for (const [path, act] of paths) {
        await page.goto(`${application.url}${path}`)
        await page.locator('main h1').waitFor()
        await page.locator('.loading').first().waitFor({ state: 'detached' })
        await act?.(page)
        await page.waitForTimeout(150)
        await page.evaluate(axe)
        const violations: Violation[] = await page.evaluate('axe.run().then(({ violations }) => violations)')
        for (const { id, nodes } of violations)
          problems.push(`/${path}: ${id}: ${nodes.length} × ${nodes[0]?.html} ${nodes[0]?.failureSummary}`)
        const wide: number = await page.evaluate(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        )
        if (wide > 0) problems.push(`/${path}: the page overflows by ${wide} px`)
      }
      await page.context().close()
      expect(problems).toEqual([])
      expect(browser.errors).toEqual([])
    },
    240_000,
  )
})
