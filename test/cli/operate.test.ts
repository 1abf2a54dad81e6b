/** The operators' commands on each database: their output for people and programs, and their exit codes. */
import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { eachDatabase, type TestDatabase } from '../support/databases.ts'
import { until } from '../support/worker-process.ts'
import { runHere, startHere } from './here.ts'
import { type Ended, root, temporaryFolder } from './program.ts'

interface Operator {
  readonly database: TestDatabase
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** Runs a command to completion, without a terminal. */
  readonly cli: (...args: string[]) => Promise<Ended>
  /** Runs a command with --json and parses the lines of its output. Fails if the command fails. */
  readonly json: (...args: string[]) => Promise<Readonly<Record<string, unknown>>[]>
  /** Starts a worker with this module body. It is stopped when the test ends. */
  readonly worker: (body: string, ...args: string[]) => Promise<void>
}

/** An ended process may remain a zombie if its parent does not wait for it. */
function isRunning(pid: number): boolean {
  return /^[^Z]/.test(spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).stdout)
}

eachDatabase(({ fresh }) => {
  async function operator(): Promise<Operator> {
    const database = await fresh()
    onTestFinished(() => database.drop())
    const cwd = await temporaryFolder()
    const env = { KALENDS_DATABASE: database.url, TZ: 'UTC' }
    const cli = (...args: string[]) => runHere(args, { cwd, env })
    let workers = 0
    return {
      database,
      cwd,
      env,
      cli,
      json: async (...args) => {
        const { code, stdout, stderr } = await cli(...args, '--json')
        if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`)
        return stdout
          .split('\n')
          .filter((line) => line !== '')
          .map((line): Record<string, unknown> => JSON.parse(line))
      },
      worker: async (body, ...args) => {
        const index = pathToFileURL(join(root, 'dist/index.js')).href
        // Importing a second module with the same name would return the first one, which is already loaded.
        workers += 1
        const module = `app-${workers}.mjs`
        await writeFile(join(cwd, module), `import { task } from '${index}'\n${body}\n`)
        await startHere(['start', module, '--poll-interval', '100ms', ...args], { cwd, env })
      },
    }
  }

  test('freeze, freezes and thaw work', async () => {
    const { cli, json } = await operator()
    await cli('schedules', 'add', 'hourly', '--task', 'report', '--timer', '2199-01-01 00:30')
    const dry = await cli('freeze', '--schedule', 'hourly', '--until', '2199-01-02', '--dry-run')
    expect(dry).toMatchObject({
      code: 0,
      stdout: 'Tue 2199-01-01 00:30:00 UTC  hourly\n',
      stderr: '1 slot would be skipped, and 0 waiting jobs would be held.\n',
    })
    expect(await cli('freezes')).toMatchObject({ stdout: '', stderr: '0 freezes listed.\n' })
    const made = await cli('freeze', '--task', 'report', '--until', '2199-01-02', '--reason', 'Maintenance')
    expect(made.stdout).toMatch(/^(\S+): task report frozen until Wed 2199-01-02 00:00:00 UTC\n$/)
    const [{ id } = { id: '' }] = await json('freezes')
    expect((await cli('freezes')).stdout).toMatch(
      /FREEZE +UNTIL +OF +REASON\n\S+ +Wed 2199-01-02 .* task report +Maintenance/,
    )
    expect((await cli('schedules', 'explain', 'hourly')).stdout).toMatch(/^It is frozen until Wed 2199-01-02/)
    expect((await json('freeze', '--all', '--until', '2199-01-02'))[0]).toMatchObject({
      task: null,
      reason: null,
    })
    expect(await cli('thaw', String(id))).toMatchObject({ stdout: `${String(id)}: task report thawed\n` })
    expect(await cli('thaw', String(id))).toMatchObject({ code: 3 })
    expect(await cli('freeze', '--until', '2199-01-02')).toMatchObject({ code: 2 })
    expect(await cli('freeze', '--all')).toMatchObject({ code: 2 })
    expect(await json('freezes')).toHaveLength(1)
  })

  test('schedules: add, list, show, edit, pause, resume, run, history, explain, reset and rm work', async () => {
    const { cli, json, database } = await operator()
    const made = await cli(
      'schedules',
      'add',
      'report',
      '--task',
      'report',
      '--timer',
      'Mon..Fri 09:00',
      '--zone',
      'Europe/Berlin',
      '--args',
      '{"days":30}',
      '--summary',
      'For the boss',
      '--jitter',
      '5min',
      '--retries',
      '1',
      '--max-runs',
      '3',
    )
    expect(made).toMatchObject({
      code: 0,
      stderr:
        "No known worker handles the task 'report'. Its jobs wait until a worker has a handler for it\n",
    })
    expect(made.stdout).toMatch(/ Schedule: report\n[^]* Timer: Mon\.\.Fri 09:00 Europe\/Berlin\n/)
    await cli('schedules', 'add', 'once', '--task', 'report', '--timer', '2199-01-01', '--paused')
    await database.query(
      "INSERT INTO periodic_task (id, task, timer, nextrun, planned_from) VALUES ('late', 'report', 'daily', '2026-01-01 00:00:00.000', 'x')",
    )

    const list = await cli('schedules', 'list')
    expect(list.stdout).toMatch(/^NEXT +LEFT +LAST +PASSED +SCHEDULE +STATE\n/)
    expect(list.stdout).toMatch(
      /^Thu 2026-01-01 00:00:00 UTC +\d+ (?:months|years) ago +- +- +late +active$/m,
    )
    expect(list.stdout).toMatch(/^- +- +- +- +once +paused$/m)
    expect(list.stderr).toBe('3 schedules listed.\n')
    expect((await json('schedules', 'list', '--status', 'paused')).map(({ id }) => id)).toEqual(['once'])
    const first = await cli('schedules', 'list', '--limit', '1')
    expect(first.stderr).toMatch(
      /^1 schedule listed of 3\. For more, repeat the command with --after '[^']+'\n$/,
    )
    const after = /--after '(.*)'/.exec(first.stderr)?.[1] ?? ''
    const others = await cli('schedules', 'list', '--after', after)
    expect(others.stderr).toBe('2 schedules listed of 3.\n')
    expect(others.stdout).toMatch(/ once +paused\n$/)

    expect((await json('schedules', 'show', 'report'))[0]).toMatchObject({
      timer: 'Mon..Fri 09:00 Europe/Berlin',
      args: { days: 30 },
      jitter: 300_000,
      retries: 1,
      maxRuns: 3,
    })
    const edited = await json(
      'schedules',
      'edit',
      'report',
      '--timer',
      'daily',
      '--summary',
      'none',
      '--max-runs',
      'none',
      '--ends',
      '2199-01-01 00:00 UTC',
    )
    expect(edited[0]).toMatchObject({
      timer: 'daily',
      summary: null,
      maxRuns: null,
      ends: '2199-01-01T00:00:00.000Z',
      args: { days: 30 },
    })

    expect(await json('schedules', 'edit', 'report', '--retries', 'unlimited')).toMatchObject([
      { retries: 'unlimited' },
    ])

    const retry = "retry_at = '2199-01-01 00:00:00.000', retry = 1, retry_limit = 3"
    await database.query(`UPDATE periodic_task SET ${retry} WHERE id = 'late'`)
    const retrying = 'retrying, 1 of 3, next at Tue 2199-01-01 00:00:00 UTC'
    expect((await cli('schedules', 'list', '--status', 'retrying')).stdout).toMatch(
      new RegExp(`late +${retrying}$`, 'm'),
    )
    expect((await cli('schedules', 'show', 'late')).stdout).toContain(` State: ${retrying}\n`)
    expect((await cli('doctor')).stdout).toContain("'late' is retrying, 1 of 3, next at 2199-01-01 00:00:00")

    expect(await cli('schedules', 'pause', 'report', 'late', '--reason', 'See #1')).toMatchObject({
      code: 0,
      stdout: 'report: paused; waiting jobs run\nlate: paused; waiting jobs run\n',
    })
    expect((await cli('schedules', 'show', 'report')).stdout).toContain('Reason: See #1')
    expect(await cli('schedules', 'pause', 'report')).toMatchObject({ code: 4, stdout: '' })
    expect(await cli('schedules', 'pause', 'nobody', 'report')).toMatchObject({ code: 3 })
    expect((await cli('schedules', 'resume', 'report')).stdout).toMatch(
      /^report: active, next at \w{3} \S+ \S+ UTC\n$/,
    )

    const ran = await cli('schedules', 'run', 'report', '--args', '{"days":1}')
    const job = ran.stdout.trim()
    expect((await json('jobs', 'show', job))[0]).toMatchObject({
      scheduleId: 'report',
      args: { days: 1 },
      state: 'waiting',
    })
    const again = await cli('schedules', 'run', 'report')
    expect(again.code).toBe(4)
    expect(again.stderr).toContain(job)
    expect((await cli('schedules', 'history', 'report')).stdout).toMatch(
      new RegExp(`^SLOT +STATE[^]* waiting .*${job}`),
    )
    expect((await cli('schedules', 'explain', 'report')).stdout).toContain(
      "no live worker handles the task 'report'",
    )
    expect((await json('schedules', 'explain', 'report', '--at', '2199-06-01'))[0]).toHaveProperty('reasons')

    expect((await cli('schedules', 'reset', 'report')).code).toBe(4)
    await database.query("UPDATE periodic_task SET idle = 'dead' WHERE id = 'late'")
    await database.query("UPDATE periodic_task SET enabled = 1, retry_at = NULL WHERE id = 'late'")
    expect((await json('schedules', 'reset', 'late'))[0]).toMatchObject({ status: 'active', runCount: 0 })

    const refused = await cli('schedules', 'rm', 'late')
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toContain('--yes')
    expect(await cli('schedules', 'rm', 'late', 'once', '--yes')).toMatchObject({
      code: 0,
      stdout: 'late: deleted\nonce: deleted\n',
    })
    expect((await cli('schedules', 'rm', 'late', '--yes')).code).toBe(3)
    expect((await cli('schedules', 'show', 'late')).code).toBe(3)
  })

  test('an invalid setting is reported with its option, and nothing is written', async () => {
    const { cli, database } = await operator()
    const wrong: [string[], RegExp][] = [
      [['--task', 't'], /'--timer' is required/],
      [['--timer', 'daily'], /'--task' or a command/],
      [['--task', 't', '--timer', 'Mo 9:00'], /did you mean Mon/],
      [['--task', 't', '--timer', '*/5 * * * *'], /write cron \*\/5 \* \* \* \*/],
      [['--task', 't', '--timer', 'daily', '--args', '{'], /--args.*JSON/],
      [['--task', 't', '--timer', 'daily', '--overlap', 'maybe'], /skip, queue-one, replace, allow/],
      [['--task', 't', '--timer', 'daily', '--jitter', 'long'], /'--jitter'/],
      [['--task', 't', '--timer', 'daily', '--catch-up', '9999'], /'--catch-up <n>' .* between 0 and 1000/],
      [['--task', 't', '--timer', 'daily', '--starts', 'soon'], /'--starts': "soon" is not a time/],
      [['--task', 't', '--timer', '2020-01-01'], /'--timer'.*does not elapse again/],
      [['--task', 't', '--timer', 'daily', '--', 'echo'], /either/],
    ]
    for (const [args, message] of wrong) {
      const { code, stdout, stderr } = await cli('schedules', 'add', 'x', ...args)
      expect({ code, stdout }, args.join(' ')).toEqual({ code: 2, stdout: '' })
      expect(stderr).toMatch(message)
    }
    expect(await database.query('SELECT COUNT(*) AS n FROM periodic_task')).toEqual([{ n: 0 }])
    await cli('schedules', 'add', 'x', '--task', 't', '--timer', 'daily')
    expect((await cli('schedules', 'add', 'x', '--task', 't', '--timer', 'daily')).code).toBe(4)
    expect((await cli('schedules', 'edit', 'x')).code).toBe(2)
    expect((await cli('schedules', 'edit', 'y', '--timer', 'daily')).code).toBe(3)
  })

  test('jobs: submit, list, show, logs, follow, wait, cancel and retry work, and so does `workers`', async () => {
    const { cli, json, worker, cwd, env } = await operator()
    await worker(`
      const work = task('work', { retries: 0 })
      export default (kalends) => kalends.handle(work, async ({ args, log, progress, signal }) => {
        log.info('begun with ' + JSON.stringify(args))
        log.warn('\\u001b[31mred\\u001b[0m')
        progress(0.5)
        if (args.fail) throw new Error('as asked')
        if (args.wait) await new Promise((resolve) => signal.addEventListener('abort', resolve))
        return { done: true }
      })`)
    const good = await cli('jobs', 'submit', 'work', '--args', '{"n":1}', '--wait')
    expect(good.code).toBe(0)
    expect(good.stdout).toMatch(/^\S+: success\n$/)
    const bad = await cli('jobs', 'submit', 'work', '--args', '{"fail":true}', '--wait', '--json')
    expect(bad.code).toBe(1)
    const failed: Record<string, unknown> = JSON.parse(bad.stdout)
    expect(failed).toMatchObject({ state: 'failed', error: expect.stringContaining('as asked') })

    const stuck = (await cli('jobs', 'submit', 'work', '--args', '{"wait":true}')).stdout.trim()
    const follow = await startHere(['jobs', 'logs', '--follow', stuck], {
      cwd,
      env,
      ready: /begun with \{"wait":true\}\n[^]*red/,
    })
    expect(follow.printed()).toMatch(/warn {2}\\x1b\[31mred\\x1b\[0m\n/)
    expect((await json('workers'))[0]).toMatchObject({
      alive: true,
      running: 1,
      tasks: expect.arrayContaining(['work']),
    })
    expect((await cli('workers', '--lease', 'x')).code).toBe(2)
    expect((await cli('workers')).stdout).toMatch(/^WORKER .*\n\S+ .* alive +1 +.*work/)
    expect(await cli('jobs', 'cancel', stuck)).toMatchObject({ code: 0, stdout: `${stuck}: asked to stop\n` })
    const { code, stderr } = await follow.ended
    expect(code).toBe(0)
    expect(stderr).toContain('The job is cancelled')
    expect((await cli('jobs', 'cancel', stuck)).code).toBe(4)
    expect((await cli('jobs', 'cancel', 'nobody')).code).toBe(3)
    expect((await cli('jobs', 'logs', 'nobody')).code).toBe(3)
    expect((await json('jobs', 'logs', stuck))[0]).toMatchObject({
      level: 'info',
      message: 'begun with {"wait":true}',
    })

    expect((await cli('jobs', 'list')).stdout).toMatch(/^JOB +STATE +TASK[^]* failed [^]* success /)
    expect((await json('jobs', 'list', '--state', 'failed')).map(({ id }) => id)).toEqual([failed['id']])
    expect((await cli('jobs', 'show', stuck)).stdout).toMatch(/ State: cancelled\n/)
    expect((await cli('jobs', 'retry', stuck)).stdout).toBe(`${stuck}: waiting\n`)
    expect((await cli('jobs', 'cancel', stuck)).code).toBe(0)
  })

  test('a list returns rows up to its limit, across pages, and reports the total', async () => {
    const { cli, json, database } = await operator()
    const values = (of: (index: number) => string) =>
      Array.from({ length: 1201 }, (_, index) => of(index)).join(', ')
    const padded = (index: number) => String(index).padStart(4, '0')
    await database.query(
      `INSERT INTO periodic_task (id, task, timer, enabled) VALUES ${values((index) => `('s${padded(index)}', 't', 'daily', ${index < 1 ? 1 : 0})`)}`,
    )
    await database.query(
      `INSERT INTO job (id, task) VALUES ${values((index) => `('j${padded(index)}', 't')`)}`,
    )
    await database.query("INSERT INTO job_log (job_id, message) SELECT 'j0000', id FROM periodic_task")
    expect((await cli('schedules', 'list', '--limit', '2')).stderr).toMatch(
      /^2 schedules listed of 1,000\+\./,
    )
    expect((await cli('jobs', 'list', '--limit', '2')).stderr).toBe(
      "2 jobs listed of 1,000+. For more, repeat the command with --after 'j1199'\n",
    )
    expect((await json('jobs', 'list', '--limit', '1', '--after', 'j1199'))[0]).toMatchObject({ id: 'j1198' })
    expect((await json('schedules', 'list', '--limit', '2')).map(({ id }) => id)).toHaveLength(2)
    expect(new Set((await json('schedules', 'list')).map(({ id }) => id)).size).toBe(1201)
    expect((await json('jobs', 'list', '--limit', '1100')).at(-1)).toMatchObject({ id: 'j0101' })
    expect((await cli('jobs', 'logs', 'j0000')).stdout.split('\n')).toHaveLength(1202)
    expect((await cli('jobs', 'cancel', '--task', 't', '--yes')).stderr).toBe(
      'Cancelled 1201 of 1201 jobs.\n',
    )
  })

  test('jobs: cancel and retry change all jobs that match a filter', async () => {
    const { cli, json } = await operator()
    for (let n = 0; n < 3; n += 1) await cli('jobs', 'submit', 'nobody', '--id', `job-${n}`)
    await cli('jobs', 'submit', 'later', '--run-at', '+1h', '--priority', '-5', '--group', 'g')
    expect((await json('jobs', 'list', '--task', 'later'))[0]).toMatchObject({ priority: -5, group: 'g' })
    await cli('jobs', 'submit', 'named', '--submitter', 'none', '--run-at', '+1h')
    expect((await json('jobs', 'list', '--task', 'named'))[0]).toMatchObject({ submitter: 'none' })
    expect((await cli('jobs', 'submit', 'nobody', '--id', 'job-0')).code).toBe(4)
    expect((await cli('jobs', 'cancel')).code).toBe(2)
    expect((await cli('jobs', 'cancel', 'x', '--task', 'y')).code).toBe(2)
    expect((await cli('jobs', 'cancel', '--task', 'nobody')).code).toBe(2)
    const cancelled = await cli('jobs', 'cancel', '--task', 'nobody', '--yes')
    expect(cancelled.stderr).toBe('Cancelled 3 of 3 jobs.\n')
    expect((await cli('jobs', 'retry', '--task', 'nobody', '--state', 'cancelled', '--yes')).stderr).toBe(
      'Retried 3 of 3 jobs.\n',
    )
    expect((await cli('jobs', 'retry', '--task', 'nobody', '--yes')).stderr).toBe('No job matches.\n')
  })

  test('prune removes final jobs, but nothing without confirmation', async () => {
    const { cli, json, database } = await operator()
    for (let n = 0; n < 3; n += 1) await cli('jobs', 'submit', 'x', '--id', `job-${n}`)
    await database.query(
      "UPDATE job SET state = 'success', finished = '2026-01-01 00:00:00.000' WHERE id <> 'job-0'",
    )
    expect((await cli('prune', '--age', '7d')).code).toBe(2)
    expect((await cli('prune', '--age', 'old', '--yes')).stderr).toContain("option '--age'")
    expect(await json('prune', '--age', '7d', '--yes')).toEqual([{ removed: 2 }])
    expect((await cli('prune', '--yes')).stdout).toBe('0 jobs removed\n')
    expect((await json('jobs', 'list')).map(({ id }) => id)).toEqual(['job-0'])
  })

  test('doctor finds problems, names remedies and exits with 1 [S8]', async () => {
    const { cli, json, database, worker } = await operator()
    expect(await cli('doctor')).toMatchObject({ code: 0, stdout: '' })
    await database.query("INSERT INTO periodic_task (id, task, timer) VALUES ('broken', 'x', 'Mo 9:00')")
    await cli('jobs', 'submit', 'nobody')
    await database.query(
      "INSERT INTO worker (id, name, host, pid, tasks, started, heartbeat) VALUES ('gone/1', 'gone', 'h', 1, '[\"nobody\"]', '2026-01-01 00:00:00.000', '2026-01-01 00:00:00.000')",
    )
    const { code, stdout, stderr } = await cli('doctor')
    expect(code).toBe(1)
    expect(stdout).toMatch(/WRONG no-worker:/)
    expect(stdout).toMatch(/WRONG dead-worker: the worker gone\/1 has been silent for \d+ d(?: \d+ h)?\n/)
    expect(stdout).toMatch(
      /WRONG invalid-schedule: the timer of the schedule 'broken'.*Mo.*\n {2}fix: .*kalends schedules edit broken --timer/,
    )
    expect(stdout).toMatch(/WRONG unhandled-task: 1 job of the task 'nobody' has been waiting/)
    expect(stderr).toContain('problems found.')
    const findings = (await cli('doctor', '--json')).stdout.trim().split('\n')
    expect(findings.map((line) => Object.keys(JSON.parse(line)))).toContainEqual([
      'code',
      'subjects',
      'count',
      'problem',
      'fix',
    ])
    await worker("export default (kalends) => kalends.handle(task('nobody'), () => {})")
    await cli('schedules', 'edit', 'broken', '--timer', 'daily')
    await database.query("DELETE FROM worker WHERE id = 'gone/1'")
    const [job] = await json('jobs', 'list')
    await cli('jobs', 'logs', '--follow', String(job?.['id']))
    // The worker plans the new timer at its next poll.
    await until('doctor finds no problem', async () => (await cli('doctor')).code === 0)
    expect(await cli('doctor')).toMatchObject({ code: 0, stdout: '' })
  })

  test('doctor reports problems caused by lost workers, manual edits and clocks', async () => {
    const { cli, database } = await operator()
    const now = database.kind === 'sqlite' ? "strftime('%Y-%m-%d %H:%M:%f', 'now')" : 'UTC_TIMESTAMP(3)'
    await database.query(
      `INSERT INTO worker (id, name, host, pid, tasks, started, heartbeat) VALUES ('idle/1', 'idle', 'h', 1, '["known"]', ${now}, ${now}), ('ahead/1', 'ahead', 'h', 1, '[]', ${now}, '2100-01-01 00:00:00.000')`,
    )
    await database.query(
      "INSERT INTO periodic_task (id, task, timer, nextrun, planned_from, idle, worker, mark_ends) VALUES ('late', 'known', 'daily', '2026-01-01 00:00:00.000', NULL, NULL, NULL, NULL), ('far', 'known', 'daily', NULL, NULL, NULL, 'idle/1', '2100-01-01 00:00:00.000'), ('marked', 'known', 'daily', NULL, NULL, NULL, 'gone/1', '2026-01-01 00:00:00.000'), ('endless', 'known', 'daily', NULL, NULL, 'awaiting-finish', NULL, NULL)",
    )
    await database.query(
      "INSERT INTO job (id, periodic_task_id, task, state, worker, submitted) VALUES ('unclaimed', NULL, 'known', 'waiting', NULL, '2026-01-01 00:00:00.000'), ('orphan', NULL, 'known', 'running', 'gone/1', '2026-01-01 00:00:00.000'), ('behind', 'late', 'known', 'blocked', NULL, '2026-01-01 00:00:00.000')",
    )
    const { code, stdout } = await cli('doctor', '--json')
    expect(code).toBe(1)
    const found = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(
      found.map((finding: { code: string; subjects: string[] }) => [finding.code, finding.subjects]),
    ).toEqual([
      ['clock-skew', ['ahead/1']],
      ['stale-mark', ['marked']],
      ['far-mark', ['far']],
      ['late-schedule', ['late']],
      ['unclaimed-job', ['known']],
      ['orphaned-job', ['orphan']],
      ['blocked-job', ['behind']],
      ['endless-schedule', ['endless']],
    ])
    // The marks of a worker with a longer lease expire later.
    await database.query(
      `UPDATE periodic_task SET mark_ends = ${inThreeMinutes(database.kind)} WHERE id = 'far'`,
    )
    expect((await cli('doctor', '--json')).stdout).toContain('far-mark')
    expect((await cli('doctor', '--json', '--lease', '5min')).stdout).not.toContain('far-mark')
  })

  test('doctor exits with 5 if the database is unavailable', async () => {
    const { cli } = await operator()
    const { code, stderr } = await cli('doctor', '--database', 'mysql://root@127.0.0.1:1/none')
    expect(code).toBe(5)
    expect(stderr).toMatch(/ECONNREFUSED|does not answer/)
  })

  test('doctor reports changed and missing tables', async () => {
    const { cli, database } = await operator()
    await database.query(database.kind === 'sqlite' ? 'DROP INDEX job_due' : 'DROP INDEX job_due ON job')
    const drifted = await cli('doctor')
    expect(drifted.code).toBe(1)
    expect(drifted.stdout).toContain('missing: index job_due')
    const elsewhere = await cli('doctor', '--table-prefix', 'other_')
    expect(elsewhere.code).toBe(1)
    expect(elsewhere.stdout).toMatch(/schema: .*not applied: 0000_[^]*kalends migrate/)
    expect((await cli('schedules', 'list', '--table-prefix', 'other_')).stderr).toContain("'kalends migrate'")
  })

  test('commands run only if a worker allows them; the exit code decides their outcome, and the output is logged', async () => {
    const { cli, worker, json } = await operator()
    vi.stubEnv('SECRET', 'of the worker')
    onTestFinished(() => void vi.unstubAllEnvs())
    const first = (
      await cli(
        'jobs',
        'submit',
        'command',
        '--',
        'sh',
        '-c',
        'echo out; echo err >&2; echo $KALENDS_DATABASE$SECRET; exit 3',
      )
    ).stdout.trim()
    await worker("export default (kalends) => kalends.handle(task('other'), () => {})")
    expect((await json('jobs', 'show', first))[0]).toMatchObject({ state: 'waiting' })
    await worker('export default () => {}', '--allow-commands', '--worker', 'commands')
    expect((await cli('jobs', 'logs', '--follow', first)).stdout).toMatch(/info {2}out\n/)
    const logged = (await json('jobs', 'logs', first)).map(
      ({ level, message }) => `${String(level)} ${String(message)}`,
    )
    expect(logged.toSorted()).toEqual(['info ', 'info out', 'warn err'])
    expect((await json('jobs', 'show', first))[0]).toMatchObject({
      state: 'failed',
      error: expect.stringMatching(/exited with code 3\nerr/),
    })
    const by = expect.stringMatching(/^commands\//)
    expect((await json('jobs', 'show', first))[0]?.['attempts']).toMatchObject([
      { attempt: 1, outcome: 'failed', worker: by, error: expect.stringMatching(/exited with code 3\nerr/) },
    ])
    expect((await cli('jobs', 'show', first)).stdout).toMatch(
      /\n\nATTEMPT {2}OUTCOME .*\n +1 {2}failed .* commands\/\S+ .*exited with code 3/,
    )
    const env = JSON.stringify({
      shell: 'read line; echo "$line $FOO"',
      stdin: 'hello\n',
      env: { FOO: 'bar' },
    })
    const second = await cli('jobs', 'submit', 'command', '--args', env, '--wait')
    expect(second.code).toBe(0)
    const [line] = await json('jobs', 'logs', second.stdout.split(':')[0] ?? '')
    expect(line).toMatchObject({ message: 'hello bar' })
    expect((await cli('jobs', 'submit', 'command', '--args', '{"argv":"ls"}', '--wait')).stdout).toContain(
      'argv: must be a list of strings',
    )
    expect((await cli('jobs', 'submit', 'command', '--wait', '--', '/no/such/program')).stdout).toContain(
      'cannot be started',
    )
  })

  test.runIf(process.getuid?.() === 0)(
    'with --command-user, every command runs as that user, and a job cannot choose another one',
    async () => {
      const { cli, worker, json } = await operator()
      await worker('export default () => {}', '--allow-commands', '--command-user', 'nobody')
      const secret = await cli(
        'jobs',
        'submit',
        'command',
        '--args',
        JSON.stringify({
          shell: 'id -un; id -Gn; echo "$USER $HOME"; cat /proc/$PPID/environ || echo refused',
          user: 'nobody',
          // The part that still runs as root must not use any of these variables.
          env: { PATH: '/no/such/folder:/usr/bin:/bin', LD_PRELOAD: '' },
        }),
        '--wait',
      )
      expect(secret.code).toBe(0)
      const logged = (await json('jobs', 'logs', secret.stdout.split(':')[0] ?? '')).flatMap(
        ({ level, message }) => (level === 'info' ? [message] : []),
      )
      expect(logged).toEqual(['nobody', 'nogroup', expect.stringMatching(/^nobody \//), 'refused'])
      for (const user of ['root', 'daemon']) {
        const args = JSON.stringify({ argv: ['id'], user })
        const other = await cli('jobs', 'submit', 'command', '--args', args, '--retries', '3', '--wait')
        expect(other.stdout).toMatch(/failed: .*runs all commands as 'nobody' \(--command-user\)/)
        const [job] = await json('jobs', 'show', other.stdout.split(':')[0] ?? '')
        expect(job).toMatchObject({ state: 'failed', attempt: 1 })
      }
    },
  )

  test('if a command is cancelled or times out, it ends along with all its child processes', async () => {
    const { cli, worker, json } = await operator()
    await worker('export default () => {}', '--allow-commands')
    const script = 'sleep 600 & echo child $!; wait'
    const slow = (
      await cli('jobs', 'submit', 'command', '--timeout', '1s', '--args', JSON.stringify({ shell: script }))
    ).stdout.trim()
    const stuck = (
      await cli('jobs', 'submit', 'command', '--args', JSON.stringify({ shell: `trap '' TERM; ${script}` }))
    ).stdout.trim()
    const follow = await cli('jobs', 'logs', '--follow', slow)
    expect(follow.stderr).toMatch(/failed: AttemptTimeoutError/)
    await cli('jobs', 'cancel', stuck)
    expect((await cli('jobs', 'logs', '--follow', stuck)).stderr).toMatch(/cancelled/)
    for (const id of [slow, stuck]) {
      const [line] = await json('jobs', 'logs', id)
      const pid = Number(/child (\d+)/.exec(String(line?.['message']))?.[1])
      expect(pid).toBeGreaterThan(1)
      expect(isRunning(pid)).toBe(false)
    }
  })
})

function inThreeMinutes(kind: string): string {
  return kind === 'sqlite'
    ? "strftime('%Y-%m-%d %H:%M:%f', 'now', '+3 minutes')"
    : 'UTC_TIMESTAMP(3) + INTERVAL 3 MINUTE'
}
