/** Strings are compared exactly, including spaces, case, accents and zero-width characters. */
import { expect, it } from 'vitest'
import { fenceOf } from '../../src/model/job.ts'
import { isJobId } from '../../src/model/owner.ts'
import { lookalikes } from '../support/hostile-texts.ts'
import { clock, insert, job, onEachStore, planned, policies, settings, submitDue } from './conformance.ts'
import { write } from './writes.ts'

const ALL = (text: string) => [text, ...lookalikes(text)]
const sorted = (texts: readonly string[]) => texts.toSorted()

onEachStore((under) => {
  it('a claim takes only jobs with exactly the given task names [L50]', async () => {
    for (const [index, task] of lookalikes('tick').entries()) await job(under, `other${index}`, { task })
    await job(under, 'mine', { task: 'tick' })
    const { executing, scheduling } = under.store
    expect((await executing.claim('w/1', policies('tick'), 100, '')).map(({ id }) => id)).toEqual(['mine'])
    expect((await scheduling.look(['tick'])).claimable).toBe(false)
    for (const [index, task] of lookalikes('tick').entries()) {
      const claimed = await executing.claim('w/1', policies(task), 100, '')
      expect(
        claimed.map(({ id }) => id),
        JSON.stringify(task),
      ).toEqual([`other${index}`])
    }
  })

  it('groups with similar names take turns', async () => {
    for (const [index, group_] of ALL('team').entries())
      for (const turn of ['a', 'b']) await job(under, `${index}${turn}`, { group_ })
    const first = await under.store.executing.claim('w/1', policies('task'), ALL('team').length, '')
    expect(sorted(first.map(({ group }) => group))).toEqual(sorted(ALL('team')))
  })

  it('ids that look the same belong to different rows [L50]', async () => {
    for (const id of ALL('one')) {
      await write(under.store).create(id, settings({ summary: id }))
      if (isJobId(id)) await job(under, id, { subject: id })
    }
    for (const id of ALL('one')) {
      expect(await under.store.schedules.get(id)).toMatchObject({ id, summary: id })
      expect(await under.store.jobs.get(id)).toEqual(
        isJobId(id) ? expect.objectContaining({ id, subject: id }) : null,
      )
      expect(await under.store.schedules.update(id, { summary: `${id}!` })).toMatchObject({ id })
    }
    for (const id of ALL('one')) {
      expect(await under.store.schedules.get(id)).toMatchObject({ summary: `${id}!` })
      await under.store.schedules.delete(id)
    }
    expect(await under.query('SELECT id FROM periodic_task')).toEqual([])
  })

  it('a job id that is not ASCII or ends with a space is neither stored nor found', async () => {
    const { jobs, lists } = under.store
    await job(under, 'one')
    const log = { job_id: 'one', message: 'text' }
    await insert(under, 'job_log', log)
    await planned(under, 's', null, { last_job: 'one' })
    for (const id of lookalikes('one').filter((text) => !isJobId(text))) {
      for (const [table, column] of ID_COLUMNS)
        await expect(
          insert(under, table, { ...ROWS[table], [column]: id }),
          `${table}.${column} = ${JSON.stringify(id)}`,
        ).rejects.toThrow()
      expect(await jobs.get(id)).toBeNull()
      expect(await jobs.existing([id])).toEqual([])
      expect(await write(under.store).cancel(id)).toBeNull()
      expect(await write(under.store).retry(id)).toBeNull()
      expect(await lists.logs(id, 0, 10)).toBeNull()
      expect(await lists.attempts(id, 10)).toBeNull()
      expect((await lists.jobs({ limit: 10, id })).items).toEqual([])
      await expect(lists.jobs({ limit: 10, after: id })).rejects.toThrow(/^after: /)
    }
    expect(await jobs.get('one')).toMatchObject({ state: 'waiting' })
  })

  it('a search for an id prefix finds exactly the ids that begin with it', async () => {
    const all = ['a', 'a b', 'a bc', 'a  b', 'ab', 'b', 'A b']
    for (const id of all) await job(under, id)
    for (const start of ['a', 'a ', 'a  ', 'a b', 'A', 'c', 'a!', '~']) {
      const { items } = await under.store.lists.jobs({ limit: 10, id: start })
      expect(sorted(items.map(({ id }) => id)), JSON.stringify(start)).toEqual(
        sorted(all.filter((id) => id.startsWith(start))),
      )
    }
  })

  it('schedules with similar ids are marked, submitted and settled separately', async () => {
    const due = new Date((await clock(under)).getTime() - 1000)
    for (const id of ALL('one')) await planned(under, id, due)
    const { scheduling, executing } = under.store
    const marks = await scheduling.markDue('w/1', 100, 60_000)
    expect(sorted(marks.map(({ id }) => id))).toEqual(sorted(ALL('one')))
    const { submissions, refused, locked } = await scheduling.submit('w/1', marks, submitDue)
    expect({ refused, locked }).toEqual({ refused: [], locked: [] })
    expect(sorted(submissions.map(({ id }) => id))).toEqual(sorted(ALL('one')))
    const claimed = await executing.claim('w/1', policies('task'), 100, '')
    expect(sorted(claimed.map(({ scheduleId }) => scheduleId ?? ''))).toEqual(sorted(ALL('one')))
    const { settled } = await write(under.store).settle(
      claimed.map((each) => ({
        fence: fenceOf(each),
        end: { kind: 'success', result: null },
        policy: each.policy,
      })),
    )
    expect(settled).toHaveLength(claimed.length)
    expect(await under.query('SELECT id FROM periodic_task WHERE run_count <> 1')).toEqual([])
  })

  it('a run belongs only to the exact worker that claimed it', async () => {
    for (const [index, worker] of ALL('w/1').entries())
      await job(under, `j${index}`, {
        state: 'running',
        attempt: 1,
        worker,
        started: '2026-01-01 00:00:00.000',
        stop_requested: '2026-01-01 00:00:00.000',
      })
    await insert(under, 'worker', { id: 'w/1', name: 'w', host: 'h', pid: 1, tasks: '[]' })
    const { executing, scheduling } = under.store
    const fences = lookalikes('w/1').map((_, index) => ({ id: `j${index + 1}`, worker: 'w/1', claim: 0 }))
    const own = { id: 'j0', worker: 'w/1', claim: 0 }
    expect(await executing.stopRequests([own, ...fences])).toEqual([own])
    expect((await executing.held('w/1')).map(({ fence }) => fence.id)).toEqual(['j0'])
    const orphans = await executing.orphans(100)
    expect(sorted(orphans.map(({ fence }) => fence.worker))).toEqual(sorted(lookalikes('w/1')))
    expect((await scheduling.sweep('w/1', 60_000, 'everything')).orphans).toBe(true)
    const { lost } = await write(under.store).settle(
      fences.map((fence) => ({
        fence,
        end: { kind: 'released' },
        policy: policies('task').get('task') ?? expect.fail(),
      })),
    )
    expect(lost).toHaveLength(lookalikes('w/1').length)
  })

  it('lists and scopes match only exact names', async () => {
    const { lists, schedules, jobs } = under.store
    for (const [index, text] of ALL('ann').entries()) {
      const columns = { group_: text, submitter: text, task: text }
      await insert(under, 'periodic_task', { id: `s${text}`, timer: 'daily', declared_by: text, ...columns })
      await job(under, `j${index}`, columns)
    }
    const limit = 100
    for (const [index, text] of ALL('ann').entries()) {
      for (const filter of [{ task: text }, { group: text }, { submitter: text }]) {
        const found = await lists.jobs({ limit, ...filter })
        expect(
          found.items.map(({ id }) => id),
          JSON.stringify(filter),
        ).toEqual([`j${index}`])
        const page = await lists.schedules({ limit, ...filter })
        expect(
          page.items.map(({ id }) => id),
          JSON.stringify(filter),
        ).toEqual([`s${text}`])
      }
      const declared = await lists.schedules({ limit, declaredBy: text })
      expect(declared.items.map(({ id }) => id)).toEqual([`s${text}`])
      expect(await jobs.ownedBy({ group: text, submitter: text }).get('j0')).toEqual(
        text === 'ann' ? expect.objectContaining({ id: 'j0' }) : null,
      )
      const deleted = await schedules.ownedBy({ group: null, submitter: text }).delete('sann')
      expect(deleted?.id).toBe(text === 'ann' ? 'sann' : undefined)
      if (text === 'ann')
        await insert(under, 'periodic_task', { id: 'sann', task: 't', timer: 'daily', group_: 'x' })
    }
  })

  const ENUMERATIONS: readonly [table: string, column: string, values: readonly string[]][] = [
    ['periodic_task', 'overlap', ['skip', 'queue-one', 'replace', 'allow']],
    ['periodic_task', 'on_exhausted', ['continue', 'stop']],
    ['periodic_task', 'retry_backoff', ['exponential', 'fixed']],
    ['periodic_task', 'idle', ['awaiting-finish', 'done', 'dead', 'invalid', 'retired']],
    ['job', 'state', ['waiting', 'blocked', 'running', 'success', 'failed', 'cancelled', 'skipped']],
    [
      'job',
      'reason',
      ['overlap', 'missed', 'max-runs', 'unsubmittable', 'exhausted', 'permanent', 'lost', 'replaced'],
    ],
    ['job', 'retry_backoff', ['exponential', 'fixed']],
    ['job_log', 'level', ['debug', 'info', 'warn', 'error']],
    ['attempt', 'outcome', ['failed', 'timeout', 'cancelled', 'released', 'snoozed', 'lost']],
  ]
  /** The columns with job ids. */
  const ID_COLUMNS = [
    ['attempt', 'job_id'],
    ['job', 'id'],
    ['job', 'open_key'],
    ['job', 'open_turn'],
    ['job', 'periodic_task_uid'],
    ['job_log', 'job_id'],
    ['periodic_task', 'last_job'],
    ['periodic_task', 'uid'],
  ] as const
  const ROWS: Readonly<Record<string, Record<string, string | number>>> = {
    periodic_task: { id: 'row', task: 'task', timer: 'daily' },
    job: { id: 'row', task: 'task' },
    job_log: { job_id: 'row', message: 'text' },
    attempt: {
      job_id: 'row',
      claim: 1,
      attempt: 1,
      worker: 'w/1',
      started: '2026-01-01 00:00:00.000',
      ended: '2026-01-01 00:00:01.000',
    },
  }

  it.each(ENUMERATIONS)('%s.%s accepts only its exact values [L50]', async (table, column, values) => {
    for (const value of values) {
      await insert(under, table, { ...ROWS[table], [column]: value })
      await under.query(`DELETE FROM ${table}`)
      for (const text of [...lookalikes(value), ''])
        await expect(
          insert(under, table, { ...ROWS[table], [column]: text }),
          JSON.stringify(text),
        ).rejects.toThrow()
      expect(await under.query(`SELECT 1 FROM ${table}`)).toEqual([])
    }
  })

  it('a row stays usable with any number that the table accepts [L51]', async () => {
    const worst: readonly [table: string, column: string, least: number, most: number][] = [
      ['periodic_task', 'enabled', 0, 1],
      ['periodic_task', 'priority', -2_147_483_647, 2_147_483_647],
      ['periodic_task', 'jitter', 0, 2_147_483_647],
      ['periodic_task', 'yields', 0, 1],
      ['periodic_task', 'catch_up', 0, 1000],
      ['periodic_task', 'max_runs', 1, Number.MAX_SAFE_INTEGER],
      ['periodic_task', 'timeout', 1, 2_147_483_647],
      ['periodic_task', 'max_retries', -1, 1000],
      ['periodic_task', 'retry_delay', 0, 2_147_483_647],
      ['periodic_task', 'run_count', 0, Number.MAX_SAFE_INTEGER],
      ['periodic_task', 'error_count', 0, Number.MAX_SAFE_INTEGER],
      ['periodic_task', 'failed_attempts', 0, Number.MAX_SAFE_INTEGER],
      ['periodic_task', 'retry', 0, 2_147_483_647],
      ['periodic_task', 'retry_limit', 0, 2_147_483_647],
      ['job', 'missed', 0, 2_147_483_647],
      ['job', 'run', 0, Number.MAX_SAFE_INTEGER],
      ['job', 'priority', -2_147_483_647, 2_147_483_647],
      ['job', 'exclusive', 0, 1],
      ['job', 'attempt', 0, 2_147_483_647],
      ['job', 'timeout', 1, 2_147_483_647],
      ['job', 'max_retries', -1, 1000],
      ['job', 'retry_delay', 0, 2_147_483_647],
    ]
    for (const [table, column, least, most] of worst) {
      for (const value of [least - 1, most + 1, -2_147_483_648, 'NaN'])
        await expect(
          insert(under, table, { ...ROWS[table], [column]: value }),
          `${table}.${column} = ${value}`,
        ).rejects.toThrow()
      const next = new Date((await clock(under)).getTime() - 1000)
      for (const value of [least, most]) {
        const what = `${table}.${column} = ${value}`
        if (table === 'job') await job(under, 'row', { [column]: value })
        else {
          await planned(under, 'row', next, { [column]: value })
          const marks = await under.store.scheduling.markDue('w/1', 10, 60_000)
          const { refused } = await under.store.scheduling.submit('w/1', marks, submitDue)
          expect(refused, what).toEqual([])
        }
        const claimed = await under.store.executing.claim('w/1', policies('task'), 10, '')
        const { settled } = await write(under.store).settle(
          claimed.map((each) => ({
            fence: fenceOf(each),
            end: { kind: 'released' },
            policy: each.policy,
          })),
        )
        expect(settled.length, what).toBe(value === 0 && column === 'enabled' ? 0 : claimed.length)
        for (const one of ['periodic_task', 'job']) await under.query(`DELETE FROM ${one}`)
      }
    }
  })

  if (under.kind !== 'sqlite')
    it('every text column is compared exactly, whatever the defaults of the server and the database', async () => {
      const exact = under.kind === 'mariadb' ? 'utf8mb4_nopad_bin' : 'utf8mb4_0900_bin'
      expect(
        await under.query(
          'SELECT DISTINCT collation_name AS name FROM information_schema.columns WHERE table_schema = DATABASE() AND collation_name IS NOT NULL ORDER BY name DESC',
        ),
      ).toEqual([{ name: exact }, { name: 'ascii_bin' }])
      expect(
        await under.query(
          "SELECT DISTINCT table_name AS `table`, column_name AS `column` FROM information_schema.columns WHERE table_schema = DATABASE() AND collation_name = 'ascii_bin' ORDER BY table_name, column_name",
        ),
      ).toEqual(ID_COLUMNS.map(([table, column]) => ({ table, column })))
      expect(
        await under.query(
          'SELECT DISTINCT engine AS engine, row_format AS format FROM information_schema.tables WHERE table_schema = DATABASE()',
        ),
      ).toEqual([{ engine: 'InnoDB', format: 'Dynamic' }])
    })

  if (under.kind === 'sqlite')
    it('SQLite rejects values that contain NUL, are too long or are BLOBs', async () => {
      const columns: (readonly [table: string, column: string])[] = [
        ...['id', 'task', 'group_', 'submitter', 'timer', 'declared_by', 'worker'].map(
          (column) => ['periodic_task', column] as const,
        ),
        ...['id', 'task', 'group_', 'submitter', 'periodic_task_id', 'worker'].map(
          (column) => ['job', column] as const,
        ),
      ]
      for (const [table, column] of columns)
        for (const value of ["'a' || char(0)", "'a' || char(0) || 'b'", "x'61'", `'${'x'.repeat(600)}'`]) {
          const row = Object.entries(ROWS[table] ?? {}).filter(([name]) => name !== column)
          await expect(
            under.query(
              `INSERT INTO ${table} (${[...row.map(([name]) => name), column].join(', ')}) VALUES (${[...row.map(([, text]) => `'${text}'`), value].join(', ')})`,
            ),
            `${table}.${column} = ${value}`,
          ).rejects.toThrow(/constraint/i)
        }
    })
})
