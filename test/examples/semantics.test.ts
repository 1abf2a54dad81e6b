/** The semantics of five known designs: the programs in examples/semantics print what happens, line by line. */
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { story as crontab } from '../../examples/semantics/crontab.ts'
import { story as longRun } from '../../examples/semantics/long-run.ts'
import { story as patterns } from '../../examples/semantics/patterns.ts'
import { story as repeating } from '../../examples/semantics/repeating.ts'
import { root, start, temporaryFolder } from '../cli/program.ts'
import { databases, type TestDatabase } from '../support/databases.ts'

async function linesOf(story: (tell: (line: string) => void) => Promise<void>): Promise<string[]> {
  const lines: string[] = []
  await story((line) => lines.push(line))
  return lines.map((line) => line.trim().replace(/ {2,}/g, ' '))
}

test('a self-rescheduling interval repeats until it is done, can be reset, paused and resumed, retries failed runs, and is dead once retries are exhausted [R1]', async () => {
  expect(await linesOf(repeating)).toEqual([
    '60s attempt 1: success',
    '120s attempt 1: success',
    '180s attempt 1: success',
    '3600s an hour later: done, 3 runs, 0 failed',
    '3600s reset: active, 0 runs, 0 failed',
    '3660s attempt 1: waiting, again in 60s',
    '3720s attempt 2: waiting, again in 120s',
    '3840s attempt 3: waiting, again in 240s',
    // The interval to the next run starts when this run ends.
    '4080s attempt 4: success',
    '4140s attempt 1: success',
    '4140s the feed was down for a while: active, 2 runs, 0 failed',
    '7740s paused for an hour: paused, 2 runs, 0 failed',
    '7800s attempt 1: success',
    '7800s resumed a minute ago: done, 3 runs, 0 failed',
    '7860s attempt 1: waiting, again in 60s',
    '7920s attempt 2: waiting, again in 120s',
    '8040s attempt 3: waiting, again in 240s',
    '8280s attempt 4: waiting, again in 480s',
    '8760s attempt 5: waiting, again in 600s',
    '9360s attempt 6: waiting, again in 600s',
    '9960s attempt 7: failed',
    '15000s the feed is down: dead, 1 runs, 1 failed, Error: news is down',
    '15060s attempt 1: failed',
    '15060s a permanent error is not retried: dead, 1 runs, 1 failed, PermanentError: news no longer exists',
  ])
})

test('three missed hours become three jobs or a single one, and a changed pattern applies only to later runs [S5]', async () => {
  const lines = await linesOf(patterns)
  expect(lines.filter((line) => /^up|jobs for/.test(line))).toEqual([
    'up from 02:30 to 04:10, refresh at minute 0',
    '03:00 billing: jobs for 03:00',
    '03:00 cleanup: jobs for 03:00',
    '03:00 refresh: jobs for 03:00',
    '04:00 billing: jobs for 04:00',
    '04:00 refresh: jobs for 04:00',
    'up from 07:10 to 07:20, refresh at minute 0',
    '07:10 billing: jobs for 05:00, 06:00, 07:00',
    '07:10 refresh: jobs for 07:00; 2 more missed',
    // Nothing runs when the new version starts, because no run of the new pattern was missed.
    'up from 07:25 to 08:35, refresh at minute 30',
    '07:30 refresh: jobs for 07:30',
    '08:00 billing: jobs for 08:00',
    '08:30 refresh: jobs for 08:30',
  ])
  expect(lines.filter((line) => line.startsWith('billed'))).toEqual(
    ['03', '04', '05', '06', '07', '08'].map(
      (hour) => `billed the hour before 2026-03-02T${hour}:00:00.000Z`,
    ),
  )
  expect(lines.filter((line) => line.startsWith('refreshed'))).toEqual(
    [1, 1, 3, 1, 1].map((hours) => `refreshed, for ${hours} hours`),
  )
})

test('strict cron: errors prevent the start, code overrides the database, one run follows an outage, and a first start runs what is due', async () => {
  expect(await linesOf(crontab)).toEqual([
    'rejected because it is not POSIX:',
    '*/15 * * * *: write *:0/15',
    '0 9 * * MON-FRI: write Mon..Fri 9:00',
    '@hourly: write hourly',
    '0 0 12 * * *: write 12:00',
    expect.stringMatching(/^0 0 31 2 \*: .* it never fires/),
    'nothing starts: 2 problems in one error',
    'start at 09:00:20',
    "log: Declared schedule 'sync' is new",
    "log: Declared schedule 'report' is new",
    '09:00:20 report runs for 09:00:20',
    'start at 09:01:05',
    "log: Declared schedule 'sync' is new",
    "log: Declared schedule 'report' is new",
    'nothing runs: the next report is for 2026-03-09T09:00',
    'start at 09:30:00',
    '10:00:00 sync runs for 10:00:00',
    "SQL at 10:20: UPDATE periodic_task SET timer = 'daily', enabled = 0 WHERE id = 'report'",
    'start at 22:15:00',
    'log: Declared schedule \'report\' was changed: timer, {"before":{"timer":"daily"},"changes":{"timer":"cron! 0 9 1 * 1"}}',
    '22:15:00 sync runs for 22:00:00, after 5 missed runs',
    '00:00:00 sync runs for 00:00:00',
    // The declaration does not override 'enabled'.
    "report has the timer 'cron! 0 9 1 * 1' again and is paused",
  ])
})

/** These tests wait for the start of a minute or for long runs, so all databases are tested at the same time. */
function onAllDatabases(name: string, proof: (database: TestDatabase) => Promise<void>): void {
  const kinds = databases.map(({ kind }) => kind).join(', ')
  test(`${name} (${kinds})`, async () => {
    const fresh = await Promise.all(databases.map((under) => under.fresh()))
    for (const database of fresh) onTestFinished(() => database.drop())
    await Promise.all(fresh.map(proof))
  }, 180_000)
}

onAllDatabases(
  'once, interval and cron: two schedulers die after inserting a run and before advancing its schedule, and nothing is lost or duplicated',
  async ({ kind, url, query }) => {
    const begun = Date.now()
    const cwd = await temporaryFolder()
    const { code, stdout } = await start('examples/dist/semantics/history.js', [url], { cwd }).ended
    expect(code, stdout).toBe(0)
    expect(await query("SELECT periodic_task_id, slot, reason FROM job WHERE state = 'skipped'")).toEqual([])
    expect(stdout, kind).toMatch(/first: dies after the insert of interval(, interval)*\n/)
    expect(stdout, kind).toMatch(/second: dies after the insert of cron(, \w+)*\n/)
    expect(stdout, kind).toMatch(
      /\nonce: 1 run, done; cron: 1 run; interval: 0 gaps or duplicates in \d+ runs\n$/,
    )

    const rows = await query('SELECT schedule, slot FROM run_history ORDER BY slot, schedule')
    const [created = {}] = await query("SELECT created FROM periodic_task WHERE id = 'interval'")
    const slots = rows.filter(({ schedule }) => schedule === 'interval').map(({ slot }) => Number(slot))
    expect(slots[0], kind).toBeGreaterThan(begun)
    // The first scheduler plans the schedule when it starts, which may be after the first multiples of the interval.
    const first = ((slots[0] ?? 0) - milliseconds(created['created'])) / 2000
    expect(slots, kind).toEqual(
      slots.map((_, index) => milliseconds(created['created']) + 2000 * (Math.ceil(first) + index)),
    )
    // The history contains every job that was handed over, and nothing was skipped.
    const jobs = await query('SELECT id, state, reason FROM job')
    // The schedulers may stop between a submission and its hand-over.
    const left = jobs.filter(({ state }) => state === 'waiting')
    expect(left.length, kind).toBeLessThanOrEqual(2)
    const handedOver = jobs.filter((job) => !left.includes(job))
    expect(new Set(handedOver.map(({ reason }) => reason)), kind).toEqual(new Set(['handed-over']))
    expect(handedOver, kind).toHaveLength(rows.length)
  },
)

onAllDatabases(
  'runs that take longer than their interval never overlap across two workers, and their schedule is paused and resumed in SQL',
  async ({ kind, url }) => {
    const { history, off, on } = await longRun(url, () => {})
    const ran = history.filter(({ state }) => state !== 'skipped')
    expect(ran.length, kind).toBeGreaterThanOrEqual(4)
    for (const [index, { startedAt: started }] of ran.entries()) {
      const before = ran[index - 1]?.finishedAt?.getTime() ?? 0
      expect(started?.getTime(), kind).toBeGreaterThanOrEqual(before)
    }
    const skipped = history.filter(({ state }) => state === 'skipped')
    expect(skipped.length, kind).toBeGreaterThanOrEqual(2)
    expect(
      skipped.map(({ reason }) => reason),
      kind,
    ).toContain('overlap')

    // The pause takes effect within the poll interval. Slots during the pause neither run later nor count as missed.
    const pollIntervalMs = 1000
    const between = history.filter(
      ({ slot }) => slot !== null && slot.getTime() > off.getTime() + pollIntervalMs && slot <= on,
    )
    expect(between, kind).toEqual([])
    const resumed = history.find(({ slot }) => slot !== null && slot > on)
    expect(resumed, kind).toMatchObject({ state: 'success', missed: 0 })
  },
)

test.each(['repeating', 'patterns', 'crontab'])(
  '%s also works as a module of a real worker',
  async (name) => {
    const cwd = await temporaryFolder()
    const module = join(root, `examples/dist/semantics/${name}.js`)
    const worker = start('dist/cli/main.js', ['start', module, '--database', 'sqlite:./app.db'], { cwd })
    await worker.until(/Ready/)
    worker.child.kill('SIGTERM')
    expect(await worker.ended).toMatchObject({ code: 0, stderr: '' })
  },
)

/** Parses a time in the database's format. */
function milliseconds(stored: unknown): number {
  return Date.parse(`${String(stored).replace(' ', 'T').replace(/Z$/, '')}Z`)
}
