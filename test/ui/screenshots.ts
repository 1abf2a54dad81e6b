/**
 * Takes screenshots of every page in both themes and two sizes, with the sample data. Replaces docs/screenshots with
 * the screenshots that README.md and docs show, as WebP. If KALENDS_SCREENSHOTS names a folder, instead writes all
 * screenshots to that folder, as PNG.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'libsql'
import type { Page } from 'playwright-core'
import { test } from 'vitest'
import type { TestDatabase } from '../support/databases.ts'
import { Kalends, task } from '../../src/index.ts'
import { type Application, startApplication } from './application.ts'
import { openBrowser, type TestBrowser } from './browser.ts'
import { fill, states, TASKS } from './sample.ts'

const OTHER = process.env['KALENDS_SCREENSHOTS']
const ROOT = join(import.meta.dirname, '../..')
const FOLDER = OTHER ?? join(ROOT, 'docs/screenshots')
const SIZES = { wide: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } } as const
const THEMES = ['light', 'dark'] as const

interface Shot {
  readonly name: string
  readonly path: string
  readonly before?: (page: Page) => Promise<unknown>
}

test('screenshots of every page', async () => {
  const browser = await openBrowser()
  if (browser === null) throw new Error('No browser is available for screenshots')
  const folder = await mkdtemp(join(tmpdir(), 'kalends-pictures-'))
  const database = sqlite(join(folder, 'shop.db'))
  const kalends = await Kalends.open(database.url, { zone: 'Europe/Berlin' })
  const ids = await fill(kalends, database, new Date())
  await kalends.stop()
  const others = await Promise.all(
    ['web-2', 'batch-frankfurt-1'].map(async (worker) => {
      const other = await Kalends.open(database.url, { worker, retention: false })
      other.declare('shop', [])
      await other.start({ concurrency: 2 })
      return other
    }),
  )
  const application = await startApplication(database.url, {
    kalends: { zone: 'Europe/Berlin' },
    tasks: TASKS,
  })
  try {
    const shots = await prepared(application, database, ids)
    const shown = OTHER === undefined ? shownPictures() : null
    if (OTHER === undefined) await rm(FOLDER, { recursive: true, force: true })
    await mkdir(FOLDER, { recursive: true })
    for (const theme of THEMES)
      for (const [size, viewport] of Object.entries(SIZES)) {
        const page = await browser.page({
          viewport,
          colorScheme: theme,
          hasTouch: size === 'phone',
          isMobile: size === 'phone',
        })
        for (const { name, path, before } of shots) {
          const picture = `${name}-${size}-${theme}`
          if (shown?.has(picture) === false) continue
          await page.goto(`${application.url}${path}`, { waitUntil: 'load' })
          await page.locator('main h1').waitFor()
          await page.locator('.loading').first().waitFor({ state: 'detached' })
          await before?.(page)
          await page.waitForTimeout(400)
          const png = await page.screenshot()
          const file = join(FOLDER, picture)
          if (shown === null) await writeFile(`${file}.png`, png)
          else await writeFile(`${file}.webp`, await webp(browser, png))
        }
        await page.context().close()
      }
    if (browser.errors.length > 0) throw new Error(browser.errors.join('\n'))
  } finally {
    await application.stop()
    for (const other of others) await other.stop({ grace: 0 })
    await database.drop()
    await browser.close()
    await rm(folder, { recursive: true, force: true })
  }
})

/** Converts a PNG to WebP in the browser, which reduces it to a third of its size. */
async function webp({ browser }: TestBrowser, picture: Buffer): Promise<Buffer> {
  const page = await browser.newPage()
  const url = `data:image/png;base64,${picture.toString('base64')}`
  const converted: string = await page.evaluate(`(async () => {
    const image = new Image()
    image.src = ${JSON.stringify(url)}
    await image.decode()
    const canvas = document.createElement('canvas')
    canvas.width = image.width
    canvas.height = image.height
    canvas.getContext('2d').drawImage(image, 0, 0)
    return canvas.toDataURL('image/webp', 0.7)
  })()`)
  await page.close()
  return Buffer.from(converted.slice(converted.indexOf(',') + 1), 'base64')
}

async function prepared(
  { kalends }: Application,
  database: TestDatabase,
  ids: readonly string[],
): Promise<Shot[]> {
  await new Promise((resolve) => setTimeout(resolve, 2000))
  await states(database, ids)
  for (const [steps, ms, subject] of [
    [400, 1200, 'catalogue 2026/47'],
    [80, 900, 'acme → globex'],
    [200, 700, 'tenant 17'],
  ] as const)
    await kalends.jobs.submit(task('slow'), { steps, ms }, { subject })
  await new Promise((resolve) => setTimeout(resolve, 6000))
  const [running] = (await kalends.jobs.list({ state: 'running', task: 'slow' })).items
  const failed = (await kalends.jobs.list({ state: 'failed', task: 'invoice.send' })).items.find((job) =>
    job.error?.includes('Caused by'),
  )
  const typed = (text: string) => async (page: Page) => {
    await page.getByLabel('Timer', { exact: true }).fill(text)
    await page.waitForTimeout(600)
  }
  return [
    { name: 'overview', path: '' },
    { name: 'schedules', path: 'schedules' },
    { name: 'schedules-search', path: 'schedules?q=sync&order=nextRunAt' },
    { name: 'schedules-scripts', path: `schedules?task=${encodeURIComponent('報告書.送信')}` },
    {
      name: 'schedule-long',
      path: `schedules/${encodeURIComponent(ids.find((id) => id.startsWith('consolidate:eu')) ?? '')}`,
    },
    { name: 'schedule', path: 'schedules/backup-orders' },
    { name: 'schedule-dead', path: 'schedules/sync-inventory-delphi-eu' },
    { name: 'new-timer', path: 'schedules/new', before: typed('Sun 02:30 America/New_York') },
    { name: 'new-error', path: 'schedules/new', before: typed('Mon..Fry 9:00') },
    { name: 'edit', path: 'schedules/erase-old-logs/edit' },
    { name: 'calendar', path: 'calendar', before: (page) => page.locator('.week .cell.is-now').click() },
    { name: 'jobs', path: 'jobs' },
    { name: 'jobs-failed', path: 'jobs?state=failed' },
    { name: 'jobs-by-error', path: 'jobs?by=error' },
    { name: 'job-running', path: `jobs/${running?.id ?? ''}` },
    { name: 'job-failed', path: `jobs/${failed?.id ?? ''}` },
    { name: 'workers', path: 'workers' },
  ]
}

function sqlite(file: string): TestDatabase {
  const connection = new Database(file, { timeout: 10_000 })
  return {
    kind: 'sqlite',
    url: `sqlite:${file}`,
    query: async (sql, params = []) => {
      connection.prepare(sql).run(...params)
      return []
    },
    drop: async () => {
      connection.close()
    },
  }
}

/** The names of the screenshots that README.md and docs show or link to. */
function shownPictures(): ReadonlySet<string> {
  const docs = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
  const pages = ['README.md', ...docs.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)]
  return new Set(
    pages.flatMap((page) =>
      [...readFileSync(join(ROOT, page), 'utf8').matchAll(/screenshots\/([\w-]+)\.webp/g)].map(
        ([, name = '']) => name,
      ),
    ),
  )
}
