/** User flows on the page, in a real browser, on real databases. */
import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { task } from '../../src/index.ts'
import { databases } from '../support/databases.ts'
import { type Application, type ApplicationOptions, startApplication } from './application.ts'
import { openBrowser, type TestBrowser } from './browser.ts'

let browser: TestBrowser | null = null
beforeAll(async () => {
  browser = await openBrowser()
})
afterAll(() => browser?.close())

const wanted = databases.filter(({ kind }) => kind !== 'mysql')

describe.each(wanted)('$kind', ({ fresh }) => {
  async function start(options: ApplicationOptions = {}) {
    const database = await fresh()
    onTestFinished(() => database.drop())
    const application = await startApplication(database.url, options)
    onTestFinished(() => application.stop())
    return { database, application }
  }

  it('rejects an invalid timer, creates the schedule with a valid one, and shows its run without a reload', async ({
    skip,
  }) => {
    const { application } = await start()
    const page = await opened(skip)
    await page.goto(application.url)
    await page.getByRole('link', { name: 'Schedules', exact: true }).click()
    await page.getByRole('link', { name: 'New schedule' }).click()

    const timer = page.getByLabel('Timer', { exact: true })
    await timer.fill('*/5 * * * *')
    await page.getByText('this looks like cron').waitFor()
    await page.getByRole('button', { name: 'Use cron */5 * * * *' }).click()
    await page.getByText('every 5 minutes', { exact: true }).waitFor()
    expect(await page.getByRole('region', { name: 'Next run times' }).locator('tbody tr').count()).toBe(10)

    await timer.fill('Mon..Fry 9:00')
    await page.getByText('column 6', { exact: false }).first().waitFor()
    expect(await page.locator('.caret mark').textContent()).toBe('Fry')
    await page.getByLabel('Task', { exact: true }).fill('quick')
    await page.getByLabel('Id', { exact: true }).fill('every?second')
    await page.getByRole('button', { name: 'Create schedule' }).click()
    await page.getByText('a weekday is expected here').first().waitFor()
    // After the rejection, the field with the error has the focus.
    await page.locator('#timer:focus').waitFor()
    expect(await application.kalends.schedules.get('every?second')).toBeNull()

    await timer.fill('*:*:*')
    await page.getByLabel('Args', { exact: true }).fill('{"a": }')
    await page.getByRole('button', { name: 'Create schedule' }).click()
    await page.getByText('This is not JSON').waitFor()
    await page.locator('#args:focus').waitFor()
    await page.getByLabel('Args', { exact: true }).fill('{"a": 1}')
    await page.getByRole('button', { name: 'Create schedule' }).click()

    await page.getByRole('heading', { name: 'every?second' }).waitFor()
    await page.getByRole('table', { name: 'Runs and skips' }).getByText('success').nth(2).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'every?second' }).waitFor()
    expect((await application.kalends.schedules.get('every?second'))?.args).toEqual({ a: 1 })
    noErrors()
  })

  it('pauses, resumes, runs and deletes a schedule', async ({ skip }) => {
    const { application } = await start()
    const { kalends } = application
    await kalends.schedules.create({ id: 'nightly', task: task('quick'), timer: 'daily' })
    const page = await opened(skip)
    await page.goto(`${application.url}schedules/nightly`)
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByText('It is paused (enabled = 0)', { exact: false }).waitFor()
    expect((await kalends.schedules.get('nightly'))?.status).toBe('paused')
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.getByRole('button', { name: 'Pause' }).waitFor()
    await page.getByRole('button', { name: 'Run now' }).click()
    await page.getByRole('table', { name: 'Runs and skips' }).getByText('success').waitFor()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    expect(await kalends.schedules.get('nightly')).not.toBeNull()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No schedules yet').waitFor()
    expect(await kalends.schedules.get('nightly')).toBeNull()
    noErrors()
  })

  it('does not overwrite a change that was made while the form was open', async ({ skip }) => {
    const { application } = await start()
    const { schedules } = application.kalends
    await schedules.create({ id: 'nightly', task: task('quick'), timer: 'daily' })
    const page = await opened(skip)
    await page.goto(`${application.url}schedules/nightly/edit`)
    await page.getByLabel('Timer', { exact: true }).fill('hourly')
    await schedules.update('nightly', { timer: 'weekly' })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('has changed since you read it', { exact: false }).waitFor()
    expect(await schedules.get('nightly')).toMatchObject({ timer: 'weekly' })
    noErrors()
  })

  it('updates two open browsers after changes made with SQL', async ({ skip }) => {
    const { application, database } = await start()
    await application.kalends.schedules.create({ id: 'nightly', task: task('quick'), timer: 'daily' })
    const pages = [await opened(skip), await opened(skip)]
    for (const page of pages) {
      await page.goto(`${application.url}schedules`)
      await page.getByText('at 00:00 every day').waitFor()
      await page.getByText('Live').waitFor()
    }
    await database.query(
      "UPDATE periodic_task SET timer = 'Mon 07:15', summary = 'by hand' WHERE id = 'nightly'",
    )
    for (const page of pages) await page.getByText('at 07:15 every Monday').waitFor()
    await database.query("INSERT INTO periodic_task (id, task, timer) VALUES ('second', 'quick', 'hourly')")
    for (const page of pages) await page.getByRole('link', { name: 'second', exact: true }).waitFor()
    noErrors()
  })

  it('shows the current week in the calendar if the URL has an invalid week or time', async ({ skip }) => {
    const { application } = await start()
    const page = await opened(skip)
    const thisWeek = await weekAt('calendar')
    for (const query of ['at=garbage', 'at=', 'week=2026-99-99', 'week=garbage&at=9999999999-01-01'])
      expect([query, await weekAt(`calendar?${query}`)]).toEqual([query, thisWeek])
    noErrors()

    async function weekAt(address: string): Promise<string | null> {
      await page.goto(`${application.url}${address}`)
      await page.getByRole('group', { name: 'Runs by day and hour' }).waitFor()
      return page.locator('p.lead').textContent()
    }
  })

  it('keeps rows in place while the pointer is over them', async ({ skip }) => {
    const { application, database } = await start()
    const { kalends } = application
    await kalends.schedules.create({ id: 'm', task: task('quick'), timer: 'daily' })
    const page = await opened(skip)
    await page.goto(`${application.url}schedules`)
    await page.getByRole('link', { name: 'm', exact: true }).hover()
    await database.query("INSERT INTO periodic_task (id, task, timer) VALUES ('a', 'quick', 'hourly')")
    await page.getByRole('button', { name: '1 new: show' }).waitFor()
    expect(await page.locator('tbody tr').first().getAttribute('data-id')).toBe('m')
    await page.getByRole('button', { name: '1 new: show' }).click()
    await page.getByRole('link', { name: 'a', exact: true }).waitFor()
    expect(await page.locator('tbody tr').first().getAttribute('data-id')).toBe('a')
  })

  it('shows only matching rows after a click on a filter in the table', async ({ skip }) => {
    const { application } = await start()
    const { schedules } = application.kalends
    await schedules.create({ id: 'a', task: task('quick'), timer: 'daily' })
    await schedules.create({ id: 'b', task: task('slow'), timer: 'daily' })
    const page = await opened(skip)
    await page.goto(`${application.url}schedules`)
    await page.getByRole('link', { name: 'slow' }).click()
    await page.getByText('1–1 of 1 schedules').waitFor()
    // The other row is gone, although the pointer is still over the table.
    expect(await page.locator('tbody tr').count()).toBe(1)
    expect(await page.locator('tbody tr').getAttribute('data-id')).toBe('b')
  })

  it('shows new rows at once after a failed request has removed the table from under the pointer', async ({
    skip,
  }) => {
    const { application, database } = await start()
    await application.kalends.schedules.create({ id: 'b', task: task('slow'), timer: 'daily' })
    const page = await opened(skip)
    await page.goto(`${application.url}schedules`)
    await page.route(/schedules\?.*text=slow/, (route) => route.abort())
    await page.getByRole('link', { name: 'slow' }).hover()
    await page.getByRole('searchbox').fill('slow')
    const retry = page.getByRole('button', { name: 'Try again' })
    await retry.waitFor()
    await page.unroute(/schedules\?.*text=slow/)
    await page.mouse.move(0, 0)
    await retry.press('Enter')
    await page.getByText('1–1 of 1 schedules').waitFor()
    await database.query("INSERT INTO periodic_task (id, task, timer) VALUES ('a', 'slow', 'hourly')")
    await page.getByText('1–2 of 2 schedules').waitFor()
    expect(await page.locator('tbody tr').first().getAttribute('data-id')).toBe('a')
  })

  it('follows the log and progress of a running job, and cancels the job', async ({ skip }) => {
    const { application } = await start()
    const id = await application.kalends.jobs.submit(task('slow'), { steps: 1000, ms: 100 })
    const page = await opened(skip)
    await page.goto(application.url)
    await page.getByRole('table', { name: 'Running now' }).getByRole('link', { name: 'slow' }).click()
    await page.getByText('step 5 of 1000').waitFor()
    await page.getByText('step 20 of 1000').waitFor()
    await page.getByRole('progressbar').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Cancel the job' }).click()
    await page.getByText('cancelled', { exact: true }).first().waitFor()
    expect((await application.kalends.jobs.get(id))?.state).toBe('cancelled')
    noErrors()
  })

  it('shows how each attempt of a job ended, regardless of what the job logs [R14]', async ({ skip }) => {
    const { application } = await start({ works: false })
    const { kalends } = application
    kalends.handle(task('flaky', { retryDelay: 20 }), ({ attempt, log }) => {
      log.warn('Attempt 2 failed: fake')
      if (attempt === 1) throw new Error('not yet')
    })
    await kalends.start()
    const id = await kalends.jobs.submit('flaky')
    await kalends.jobs.wait(id)
    const page = await opened(skip)
    await page.goto(`${application.url}jobs/${id}`)
    await page.getByText('Attempt 2 succeeded').waitFor()
    const steps = await page.locator('ol.course li').allInnerTexts()
    expect(steps).toEqual([
      expect.stringContaining('Submitted'),
      expect.stringMatching(/^Attempt 1 failed[^]*on web-1\/[^]*ended[^]*Error: not yet/),
      expect.stringMatching(/^Attempt 2 succeeded[^]*on web-1\/[^]*ended/),
      expect.stringContaining('Succeeded'),
    ])
    noErrors()
  })

  it('lists failed jobs after one click, shows their number, and retries them in bulk', async ({ skip }) => {
    const { application, database } = await start()
    const { kalends } = application
    const ids = await kalends.jobs.submitMany(
      Array.from({ length: 60 }, (_, number) => ({ task: task('broken'), args: { number } })),
    )
    for (const id of ids) await kalends.jobs.wait(id)
    await database.query(`UPDATE job SET args = '{"fixed": true}' WHERE task = 'broken'`)
    const page = await opened(skip)
    await page.goto(application.url)
    await page.getByRole('link', { name: 'the warehouse does not answer' }).click()
    await page.getByText('of 60 jobs').waitFor()
    await page.getByRole('button', { name: 'Retry all failed jobs in this list' }).click()
    await page.getByText('Retry 60 failed jobs?').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click()
    await page.getByText('Retry: done for 60 of 60').waitFor()
    for (const id of ids) expect((await kalends.jobs.wait(id)).state).toBe('success')
    noErrors()
  })

  it('offers readers no actions that change data', async ({ skip }) => {
    const { application } = await start({ http: { open: 'read' } })
    await application.kalends.schedules.create({ id: 'nightly', task: task('quick'), timer: 'daily' })
    const page = await opened(skip)
    await page.goto(`${application.url}schedules/nightly`)
    await page.getByText('Read only').waitFor()
    await page.getByRole('heading', { name: 'Upcoming runs' }).waitFor()
    for (const name of ['Run now', 'Pause', 'Delete'])
      expect(await page.getByRole('button', { name }).count()).toBe(0)
    await page.goto(`${application.url}schedules/new`)
    await page.getByText('You can view schedules, but not change them').waitFor()
    expect(await page.getByLabel('Timer', { exact: true }).count()).toBe(0)
  })

  it('reconnects after the server restarts, and shows what changed in the meantime', async ({ skip }) => {
    const { application } = await start()
    const { kalends } = application
    const page = await opened(skip)
    await page.goto(`${application.url}schedules`)
    await page.getByText('No schedules yet').waitFor()
    await page.getByRole('button', { name: 'Live' }).waitFor()
    const back = application.restartServer(1500)
    await page.getByRole('button', { name: 'Not connected' }).waitFor()
    await kalends.schedules.create({ id: 'meanwhile', task: task('quick'), timer: 'daily' })
    await back
    await page.getByRole('link', { name: 'meanwhile' }).waitFor()
    await page.getByRole('button', { name: 'Live' }).waitFor()
    noErrors()
  })
})

describe('on SQLite', () => {
  const under = databases.find(({ kind }) => kind === 'sqlite')

  async function start(options: ApplicationOptions = {}): Promise<Application> {
    if (under === undefined) throw new Error('SQLite is not tested in this run')
    const database = await under.fresh()
    onTestFinished(() => database.drop())
    const application = await startApplication(database.url, options)
    onTestFinished(() => application.stop())
    return application
  }

  it.skipIf(under === undefined)('works under a base path', async ({ skip }) => {
    const application = await start({ base: '/admin/tools/kalends' })
    // The id of an owner's schedule starts with the owner's percent-encoded name and a slash.
    const { schedules } = application.kalends.scope({ submitter: 'a b', tasks: ['quick'] })
    await schedules.create({ id: 'ü?', task: task('quick'), timer: 'daily' })
    const id = 'a%20b/ü?'
    const page = await opened(skip)
    await page.goto(application.url)
    await page.getByRole('link', { name: 'Schedules', exact: true }).click()
    await page.getByRole('link', { name: id }).click()
    await page.getByRole('heading', { name: id }).waitFor()
    expect(page.url()).toContain(`/admin/tools/kalends/schedules/${encodeURIComponent(id)}`)
    await page.reload()
    await page.getByRole('heading', { name: 'Upcoming runs' }).waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'Schedules' }).waitFor()
    noErrors()
  })

  it.skipIf(under === undefined)('asks for a token if one is required', async ({ skip }) => {
    const application = await start({
      http: {
        open: undefined,
        authorize: (request) =>
          request.headers.get('authorization') === 'Bearer swordfish'
            ? { role: 'operate', user: 'ada' }
            : null,
      },
    })
    const page = await opened(skip)
    await page.goto(`${application.url}workers`)
    await page.getByLabel('Token').fill('swordfish')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('link', { name: 'web-1' }).waitFor()
    await page.getByRole('button', { name: 'Live' }).waitFor()
  })

  it.skipIf(under === undefined)(
    'accepts the token in a sign-in link, and keeps it out of the address bar and of request URLs',
    async ({ skip }) => {
      const application = await start({
        http: {
          open: undefined,
          authorize: (request) =>
            request.headers.get('authorization') === 'Bearer swordfish'
              ? { role: 'operate', user: 'ada' }
              : null,
        },
      })
      const page = await opened(skip)
      const requested: string[] = []
      page.on('request', (request) => requested.push(request.url()))
      await page.goto(`${application.url}workers?x=1#token=swordfish`)
      await page.getByRole('link', { name: 'web-1' }).waitFor()
      expect(page.url()).toBe(`${application.url}workers?x=1`)
      expect(await page.evaluate('history.length')).toBeLessThanOrEqual(2)
      // The token is kept for as long as the tab is open.
      await page.reload()
      await page.getByRole('link', { name: 'web-1' }).waitFor()
      await page.getByRole('link', { name: 'Jobs', exact: true }).click()
      await page.goBack()
      await page.getByRole('link', { name: 'web-1' }).waitFor()
      expect(page.url()).toBe(`${application.url}workers?x=1`)
      expect(requested.filter((url) => url.includes('swordfish'))).toEqual([])
    },
  )

  it.skipIf(under === undefined)(
    'accepts the token in a sign-in link even in a tab that already shows the page',
    async ({ skip }) => {
      const application = await start({
        http: {
          open: undefined,
          authorize: (request) =>
            request.headers.get('authorization') === 'Bearer swordfish' ? { role: 'operate' } : null,
        },
      })
      const page = await opened(skip)
      await page.goto(`${application.url}workers`)
      await page.getByLabel('Token').waitFor()
      await page.goto(`${application.url}workers#token=swordfish`)
      await page.getByRole('link', { name: 'web-1' }).waitFor()
      expect(page.url()).toBe(`${application.url}workers`)
    },
  )

  it.skipIf(under === undefined)('shows the runs of an hour when that hour is clicked', async ({ skip }) => {
    const application = await start()
    await application.kalends.schedules.create({
      id: 'night',
      task: task('quick'),
      timer: '03:00 Europe/Berlin',
    })
    await application.kalends.schedules.create({
      id: 'morning',
      task: task('quick'),
      timer: '07:00 Europe/Berlin',
    })
    const page = await opened(skip)
    await page.goto(application.url)
    await page.getByRole('link', { name: 'Calendar' }).first().click()
    await page.getByRole('link', { name: 'Next week' }).click()
    await page.getByRole('link', { name: /^Tue .* 03:00: 1 planned$/ }).click()
    const table = page.getByRole('table', { name: 'Upcoming runs in this hour' })
    await table.getByRole('link', { name: 'night' }).waitFor()
    expect(await table.getByRole('link', { name: 'morning' }).count()).toBe(0)
    noErrors()
  })

  it.skipIf(under === undefined)(
    'shows the local hours of a week in a zone with a half-hour offset',
    async ({ skip }) => {
      const application = await start()
      await application.kalends.schedules.create({
        id: 'morning',
        task: task('quick'),
        timer: '09:00 Asia/Kolkata',
      })
      const page = await opened(skip, { timezoneId: 'Asia/Kolkata' })
      await page.goto(`${application.url}calendar?week=2026-03-25`)
      await page.getByText('2026-03-23 to 2026-03-29').waitFor()
      const labels = await page.locator('.week .cell').evaluateAll(
        // oxlint-disable-next-line typescript/no-unsafe-return, typescript/no-unsafe-call, typescript/no-unsafe-member-access -- runs in the page
        (cells) => cells.map((cell) => cell.getAttribute('aria-label') ?? ''),
      )
      expect(labels).toHaveLength(168)
      expect(labels[0]).toMatch(/^Mon 2026-03-23 00:00: /)
      expect(labels[167]).toMatch(/^Sun 2026-03-29 23:00: /)
      await page.getByRole('link', { name: 'This week' }).click()
      await page.locator('.week .cell.is-now').waitFor()
      await page.getByRole('link', { name: 'Next week' }).click()
      await page.getByRole('link', { name: /^Tue .* 09:00: 1 planned$/ }).click()
      await page.getByRole('table', { name: 'Upcoming runs in this hour' }).getByText('09:00').waitFor()
      noErrors()
    },
  )

  it.skipIf(under === undefined)('shows a repeated hour twice when clocks are set back', async ({ skip }) => {
    const application = await start()
    const page = await opened(skip)
    await page.goto(`${application.url}calendar`)
    await page.getByLabel('Go to the week of').fill('2026-10-25')
    await page.getByText('2026-10-19 to 2026-10-25').waitFor()
    await page.getByRole('link', { name: /^Sun 2026-10-25 02:00 \+02:00: / }).waitFor()
    await page.getByRole('link', { name: /^Sun 2026-10-25 02:00 \+01:00: / }).waitFor()
    await page.getByRole('link', { name: /^Sun 2026-10-25 23:00: / }).waitFor()
    await page.getByLabel('Go to the week of').fill('2026-03-29')
    await page.getByText('2026-03-23 to 2026-03-29').waitFor()
    await page.getByRole('link', { name: /^Sun 2026-03-29 23:00: / }).waitFor()
    expect(await page.locator('.week .day').count()).toBe(7)
    noErrors()
  })

  it.skipIf(under === undefined)(
    'date fields use the zone of the page, even for skipped times',
    async ({ skip }) => {
      const application = await start()
      await application.kalends.schedules.create({
        id: 'night',
        task: task('quick'),
        timer: '03:00',
        starts: new Date('2026-07-01T08:00:00Z'),
      })
      const page = await opened(skip)
      await page.goto(`${application.url}schedules/night/edit`)
      await page.getByText('Policies:', { exact: false }).click()
      const [starts, ends] = [
        page.getByLabel('Starts', { exact: true }),
        page.getByLabel('Ends', { exact: true }),
      ]
      expect(await starts.inputValue()).toBe('2026-07-01T10:00')
      await ends.fill('2027-03-28T02:30')
      await page.getByText('This time is skipped by a clock change; 03:30 +02:00 is used instead').waitFor()
      await page.getByRole('button', { name: 'Europe/Berlin' }).click()
      expect(await starts.inputValue()).toBe('2026-07-01T08:00')
      expect(await ends.inputValue()).toBe('2027-03-28T01:30')
      await page.getByText('No slot after this time (UTC)').waitFor()
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('heading', { name: 'Upcoming runs' }).waitFor()
      expect(await application.kalends.schedules.get('night')).toMatchObject({
        starts: new Date('2026-07-01T08:00:00Z'),
        ends: new Date('2027-03-28T01:30:00Z'),
      })
      noErrors()
    },
  )

  it.skipIf(under === undefined)('explains why a schedule did not run at a given time', async ({ skip }) => {
    const application = await start()
    await application.kalends.schedules.create({
      id: 'night',
      task: task('quick'),
      timer: '03:00 Europe/Berlin',
    })
    const page = await opened(skip)
    await page.goto(`${application.url}schedules/night`)
    await page.getByLabel('Why did it not run at').fill('2026-01-07T04:00')
    await page.getByText('Its timer does not elapse at Wed 2026-01-07 04:00:00 +01:00').waitFor()
    await page.getByLabel('Why did it not run at').fill('2026-01-07T03:00')
    await page.getByText('it was created later, at').waitFor()
  })

  it.skipIf(under === undefined)(
    'runs a schedule once with other args, and links to the job that prevents another run',
    async ({ skip }) => {
      const application = await start()
      const { kalends } = application
      await kalends.schedules.create({ id: 'long', task: task('slow'), timer: 'daily', args: { steps: 1 } })
      const page = await opened(skip)
      await page.goto(`${application.url}schedules/long`)
      await page.getByRole('button', { name: 'Run with args…' }).click()
      await page.getByLabel('Args for this run only').fill('{"steps": 400}')
      await page.getByRole('button', { name: 'Run', exact: true }).click()
      await page.getByRole('table', { name: 'Runs and skips' }).getByText('running').waitFor()
      expect((await kalends.schedules.get('long'))?.args).toEqual({ steps: 1 })
      await page.getByRole('button', { name: 'Run now' }).click()
      await page.getByRole('link', { name: 'Show the job' }).click()
      await page.getByText('step 3 of 400').waitFor()
      noErrors()
    },
  )

  it.skipIf(under === undefined)('shows a user with a scope only their own rows', async ({ skip }) => {
    const application = await start({
      http: {
        open: undefined,
        authorize: () => ({ role: 'admin', scope: { submitter: 'ann' }, tasks: ['quick'] }),
      },
      kalends: { redact: ['args.password'] },
    })
    const { kalends } = application
    await kalends.schedules.create({ id: 'of ann', task: task('quick'), timer: 'daily', submitter: 'ann' })
    await kalends.schedules.create({ id: 'of bob', task: task('quick'), timer: 'daily', submitter: 'bob' })
    const page = await opened(skip)
    await page.goto(application.url)
    await page.getByText('No jobs are running').waitFor()
    expect(await page.getByText('Could not load this').count()).toBe(0)
    expect(await page.getByRole('link', { name: 'Workers' }).count()).toBe(0)
    await page.getByRole('link', { name: 'Schedules', exact: true }).click()
    await page.getByRole('link', { name: 'of ann' }).waitFor()
    expect(await page.getByText('of bob').count()).toBe(0)
    await page.goto(`${application.url}schedules/of%20bob`)
    await page.getByText('Not found').waitFor()
    // The server rejects searches of values that are partly hidden.
    await page.goto(`${application.url}jobs`)
    await page.getByText('No jobs yet').waitFor()
    const options = page.getByLabel('Field to search').getByRole('option')
    await expect.poll(() => options.allTextContents()).toEqual(['in id'])
    for (const [field, why] of [
      ['args', 'parts of the args are hidden'],
      ['error', 'callers with a scope cannot search errors'],
    ]) {
      await page.goto(`${application.url}jobs?state=failed&${field}=x`)
      await page.getByText(String(why)).first().waitFor()
      expect(await page.getByRole('searchbox').inputValue()).toBe('x')
      expect(await page.getByRole('button', { name: 'Retry all failed jobs in this list' }).count()).toBe(0)
    }
  })

  it.skipIf(under === undefined)('lists can be paged forward and back in both orders', async ({ skip }) => {
    const application = await start()
    for (let index = 0; index < 120; index += 1)
      await application.kalends.schedules.create({
        id: `s${String(index).padStart(3, '0')}`,
        task: task('quick'),
        timer: 'daily',
      })
    const page = await opened(skip)
    for (const order of ['id', 'nextRunAt']) {
      await page.goto(`${application.url}schedules?order=${order}`)
      await page.getByText('1–50 of 120 schedules').waitFor()
      expect(await page.getByRole('link', { name: 'Previous page' }).count()).toBe(0)
      await page.getByRole('link', { name: 'Next page' }).click()
      await page.getByText('51–100 of 120 schedules').waitFor()
      await page.getByRole('link', { name: 's050', exact: true }).waitFor()
      await page.getByRole('link', { name: 'Next page' }).click()
      await page.getByText('101–120 of 120 schedules').waitFor()
      expect(await page.getByRole('link', { name: 'Next page' }).count()).toBe(0)
      await page.reload()
      await page.getByRole('link', { name: 'Previous page' }).click()
      await page.getByText('51–100 of 120 schedules').waitFor()
    }
    await page.getByRole('searchbox').fill('s119')
    await page.getByText('1–1 of 1 schedules').waitFor()
  })

  it.skipIf(under === undefined)('can be used with only the keyboard', async ({ skip }) => {
    const application = await start()
    const { kalends } = application
    for (const id of ['alpha', 'beta', 'gamma'])
      await kalends.schedules.create({ id, task: task('quick'), timer: 'daily' })
    const page = await opened(skip)
    await page.goto(application.url)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.keyboard.type('gs')
    await page.getByRole('link', { name: 'gamma' }).waitFor()
    await page.keyboard.type('/bet')
    await page.getByText('1–1 of 1').waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'gamma' }).waitFor()
    await page.keyboard.type('jjx')
    await page.getByText('1 selected').waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'beta' }).waitFor()
    await page.keyboard.type('?')
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor()
    await page.keyboard.press('Escape')
    // Moves to the button with Tab, as a user without a mouse does.
    await tabTo(page, 'Pause')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    expect((await kalends.schedules.get('beta'))?.status).toBe('paused')
    await page.keyboard.type('n')
    await tabTo(page, 'Timer')
    await page.keyboard.type('hourly')
    await tabTo(page, 'Task')
    await page.keyboard.type('quick')
    await page.keyboard.press('Tab')
    await page.keyboard.type('by-keyboard')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'by-keyboard' }).waitFor()
    await page.keyboard.type('gj')
    await page.getByRole('heading', { name: 'Jobs' }).waitFor()
    noErrors()
  })

  it.skipIf(under === undefined)('does not update while live updates are paused', async ({ skip }) => {
    const application = await start()
    const page = await opened(skip)
    await page.goto(`${application.url}schedules`)
    await page.getByRole('button', { name: 'Live' }).click()
    await page.getByRole('button', { name: 'Paused' }).waitFor()
    await application.kalends.schedules.create({ id: 'unseen', task: task('quick'), timer: 'daily' })
    await page.waitForTimeout(2000)
    expect(await page.getByRole('link', { name: 'unseen' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Paused' }).click()
    await page.getByRole('link', { name: 'unseen' }).waitFor()
  })
})

async function opened(skip: (reason: string) => never, options: BrowserContextOptions = {}): Promise<Page> {
  if (browser === null) return skip('no browser is available')
  const page = await browser.page(options)
  onTestFinished(() => page.context().close())
  return page
}

/** Presses Tab until an element with this name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 40; presses += 1) {
    await page.keyboard.press('Tab')
    const focused = await page.evaluate(
      '(document.activeElement?.labels?.[0] ?? document.activeElement)?.textContent?.trim()',
    )
    if (focused === name) return
  }
  throw new Error(`Tab does not reach '${name}'`)
}

function noErrors(): void {
  expect(browser?.errors).toEqual([])
}
