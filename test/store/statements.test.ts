/**
 * Checks the actual statements on tables of realistic size: the indexes that they use, and the rows that they lock and
 * read.
 */
import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise'
import { beforeAll, describe, expect, it } from 'vitest'
import { type ClaimedJob, fenceOf } from '../../src/model/job.ts'
import { cancel } from '../../src/model/manual-runs.ts'
import type { Owner } from '../../src/model/owner.ts'
import { toText } from '../../src/model/instant.ts'
import { ADOPT, eachDatabase, type TestDatabase } from '../support/databases.ts'
import {
  insert,
  LEASE_MS,
  MINUTE,
  policies,
  setChanges,
  setVersion,
  submitDue,
  WORKER,
} from './conformance.ts'
import { type Recording, recording } from './recording.ts'
import { write } from './writes.ts'

/** Longer than any test. */
const LATER = 24 * 60 * MINUTE

/**
 * Inserts schedules that are due, marked by another worker, or due later, and jobs of one huge group and some small
 * groups, in various states.
 */
async function fill(database: TestDatabase): Promise<void> {
  const now = Date.now()
  const at = (ms: number) => toText(new Date(now + ms))
  const schedules = Array.from({ length: 8000 }, (_, index) => {
    const nextrun = at(index < 1000 ? -MINUTE - index : LATER + index * 100)
    const marked = index >= 3000
    const mark = marked ? ['other/1', at(0), at(LATER)] : [null, null, null]
    return [
      `s${index}`,
      'task',
      'minutely',
      marked ? at(-MINUTE) : nextrun,
      '1|minutely|0|||',
      nextrun,
      ...mark,
    ]
  })
  await insertAll(
    database,
    'periodic_task (id, task, timer, nextrun, planned_from, planned_nextrun, worker, marked, mark_ends)',
    schedules,
  )
  const states = ['waiting', 'waiting', 'waiting', 'success', 'success', 'running', 'blocked', 'failed']
  const jobs = Array.from({ length: 12_000 }, (_, index) => {
    const state = states[index % states.length] ?? 'waiting'
    const runAt =
      state === 'waiting' && index % 3 === 0 ? at(index < 3000 ? -MINUTE - index : LATER + index) : null
    return [
      `j${String(index).padStart(5, '0')}`,
      index % 5 === 0 ? 'other' : 'task',
      index % 100 === 0 ? `small ${index % 700}` : 'huge',
      index % 2 === 0 ? `s${index}` : null,
      index % 2 === 0 ? at(-3_600_000) : null,
      state,
      state === 'running' ? 'other/1' : null,
      runAt,
      index % 10,
    ]
  })
  await insertAll(
    database,
    'job (id, task, group_, periodic_task_id, slot, state, worker, run_at, priority)',
    jobs,
  )
  await database.query(ADOPT)
  await database.query(
    "INSERT INTO worker (id, name, host, pid, tasks) VALUES ('other/1', 'other', 'h', 1, '[]')",
  )
  await database.query(database.kind === 'sqlite' ? 'ANALYZE' : 'ANALYZE TABLE periodic_task, job, worker')
}

async function insertAll(
  database: TestDatabase,
  into: string,
  rows: readonly (readonly (string | number | null)[])[],
): Promise<void> {
  for (let start = 0; start < rows.length; start += 1000) {
    const part = rows.slice(start, start + 1000)
    const values = part.map(
      (row) =>
        `(${row.map((value) => (typeof value === 'string' ? `'${value}'` : String(value))).join(', ')})`,
    )
    await database.query(`INSERT INTO ${into} VALUES ${values.join(', ')}`)
  }
}

interface Step {
  readonly table: string
  readonly access: string
  readonly key: string
  readonly extra: string
}

const found = (statements: readonly string[], pattern: RegExp): string | undefined =>
  statements.find((statement) => pattern.test(statement))

eachDatabase(({ kind, bare }) => {
  let database: TestDatabase
  let recorded: Recording
  /** A connection whose session the tests may change. */
  let side: Connection | undefined

  beforeAll(async () => {
    database = await bare()
    const { openStore } = await import('../support/open-store.ts')
    await (await openStore(database.url)).close()
    await fill(database)
    recorded = await recording(database.url)
    if (kind !== 'sqlite') side = await createConnection({ uri: database.url, dateStrings: true })
    if (kind === 'mysql') await side?.query("SET explain_format = 'TRADITIONAL'")
    return async () => {
      await side?.end()
      await recorded.store.close()
      await database.drop()
    }
  })

  const connection = (): Connection => {
    if (side === undefined) throw new Error('no server')
    return side
  }

  const locksOnMysql = async (): Promise<number> => {
    const [rows] = await connection().query<RowDataPacket[]>(
      "SELECT COUNT(*) AS n FROM performance_schema.data_locks WHERE lock_type = 'RECORD' AND index_name = 'PRIMARY' AND engine_transaction_id IN (SELECT trx_id FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = CONNECTION_ID())",
    )
    return Number(rows[0]?.['n'])
  }

  /** Counts locked index entries and rows. innodb_trx is not used: its counts can be a tenth of a second out of date. */
  const locksOnMariadb = async (): Promise<number> => {
    const [rows] = await connection().query<RowDataPacket[]>('SHOW ENGINE INNODB STATUS')
    const [ids] = await connection().query<RowDataPacket[]>('SELECT CONNECTION_ID() AS id')
    const mine = String(rows[0]?.['Status'])
      .split('---TRANSACTION')
      .find((text) => text.includes(`thread id ${ids[0]?.['id']},`))
    const locks = /(\d+) row lock/.exec(mine ?? '')?.[1]
    if (locks === undefined) throw new Error(`no locks of this connection: ${mine}`)
    return Number(locks)
  }

  /** Runs statements in a transaction and returns how many rows (on MariaDB, also index entries) they lock. */
  const rowsLocked = async (statements: readonly string[]): Promise<number> => {
    await connection().query('SET TRANSACTION ISOLATION LEVEL READ COMMITTED')
    await connection().query('START TRANSACTION')
    try {
      for (const statement of statements) await connection().query(statement)
      return kind === 'mysql' ? await locksOnMysql() : await locksOnMariadb()
    } finally {
      await connection().query('ROLLBACK')
    }
  }

  /** The statements of one call. */
  const statementsOf = async (work: () => Promise<unknown>): Promise<string[]> => {
    recorded.statements.length = 0
    await work()
    return [...recorded.statements]
  }

  const explain = async (statement: string | undefined): Promise<Step[]> => {
    if (statement === undefined) throw new Error('no such statement')
    if (side === undefined) {
      const rows = await database.query(`EXPLAIN QUERY PLAN ${statement}`)
      return rows.map(({ detail }) => ({
        table: '',
        access: '',
        key: /USING (?:COVERING )?INDEX (\S+)/.exec(String(detail))?.[1] ?? '',
        extra: String(detail),
      }))
    }
    const [rows] = await side.query<RowDataPacket[]>(`EXPLAIN ${statement}`)
    return rows.map((row) => ({
      table: String(row['table']),
      access: String(row['type']),
      key: String(row['key']),
      extra: String(row['Extra']),
    }))
  }

  /** The entry of a job in each index, by index name. An entry whose columns all stay NULL does not move. */
  const entriesOf = async (id: string): Promise<ReadonlyMap<string, string>> => {
    const [row] = await database.query(`SELECT * FROM job WHERE id = '${id}'`)
    const columns = await database.query(
      kind === 'sqlite'
        ? "SELECT i.name AS name, c.name AS part FROM pragma_index_list('job') AS i, pragma_index_info(i.name) AS c ORDER BY i.name, c.seqno"
        : "SELECT index_name AS name, column_name AS part FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'job' ORDER BY index_name, seq_in_index",
    )
    expect(columns.length).toBeGreaterThan(12)
    const entries = new Map<string, string>()
    for (const { name, part } of columns)
      entries.set(String(name), `${entries.get(String(name)) ?? ''}|${String(row?.[String(part)])}`)
    return entries
  }

  const moved = (before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] =>
    [...before].flatMap(([name, entry]) => (after.get(name) === entry ? [] : [name])).toSorted()

  /** The number of index entries and rows that a statement reads. */
  const entriesRead = async (statement: string): Promise<number> => {
    if (side === undefined) throw new Error('SQLite has no such counters')
    await side.query('FLUSH STATUS')
    await side.query(statement)
    const [rows] = await side.query<RowDataPacket[]>("SHOW SESSION STATUS LIKE 'Handler_read%'")
    return rows.reduce((sum, row) => sum + Number(row['Value']), 0)
  }

  const TURNS = /AS part, NULL AS of_schedule/
  const CLAIM = /ORDER BY ready, group_, claim_task, claim_rank, id/
  const SORTS = /filesort|TEMP B-TREE FOR ORDER BY|temporary/i
  const primary = kind === 'sqlite' ? /^sqlite_autoindex_\w+_1$/ : /^PRIMARY$/

  /** Checks that the statement reads only through this index, in index order. */
  const readsBy = async (statement: string | undefined, key: RegExp) => {
    const steps = await explain(statement)
    // The table of freezes is tiny, and usually empty.
    const reading = steps.filter((step) =>
      kind === 'sqlite' ? /(SEARCH|SCAN) (job|periodic_task)/.test(step.extra) : step.table !== 'f',
    )
    expect(reading.length, statement).toBeGreaterThan(0)
    for (const step of reading) {
      expect(step.key, `${statement}\n${JSON.stringify(steps)}`).toMatch(key)
      expect(step.access).not.toMatch(/^(ALL|index)$/)
    }
    for (const step of steps) expect(step.extra, `${statement}\n${JSON.stringify(steps)}`).not.toMatch(SORTS)
  }

  describe('plans', () => {
    it.each<[string, Owner, RegExp]>([
      ['submitter', { group: null, submitter: 'ann' }, /^job_open_submitter$/],
      ['group', { group: 'huge', submitter: null }, /^job_open_group$/],
      ['group and submitter', { group: 'huge', submitter: 'ann' }, /^job_open_submitter$/],
    ])('the open jobs of a %s are counted without reading the history', async (_, owner, index) => {
      await insertAll(
        database,
        'job (id, task, group_, submitter, state)',
        Array.from({ length: 3000 }, (_row, number) => [
          `${index.source}${owner.group}${number}`,
          'task',
          'huge',
          'ann',
          number < 5 ? 'waiting' : 'success',
        ]),
      )
      const jobs = recorded.store.jobs.ownedBy(owner)
      let open = 0
      const [count = ''] = await statementsOf(async () => {
        open = await jobs.countOpen(5)
      })
      expect(open).toBe(5)
      const steps = await explain(count)
      expect(steps.map(({ key }) => key).filter((key) => index.test(key))).toHaveLength(1)
      expect(steps.map(({ access }) => access)).not.toContain('index')
      if (kind !== 'sqlite') expect(await entriesRead(count)).toBeLessThan(50)
      await database.query("DELETE FROM job WHERE submitter = 'ann'")
    })

    it('marking reads the earliest rows by wake_at, in index order, and writes by key [L33]', async () => {
      const statements = await statementsOf(() => recorded.store.scheduling.markDue(WORKER, 100, LEASE_MS))
      await readsBy(found(statements, /^SELECT.*wake_at <=/s), /^periodic_task_wake_at$/)
      await readsBy(found(statements, /^UPDATE/), primary)
    })

    it('submitting reads and writes schedules by key, and finds their open jobs by an index', async () => {
      const marks = await recorded.store.scheduling.markDue(WORKER, 100, LEASE_MS)
      const statements = await statementsOf(() => recorded.store.scheduling.submit(WORKER, marks, submitDue))
      await readsBy(found(statements, /^SELECT id, task, enabled/), primary)
      const jobs = await explain(
        found(statements, /AS schedule, state, attempt, NULL AS number, NULL AS freezes FROM/),
      )
      expect(jobs.map((step) => step.key)).toContain('job_open')
      // The table of freezes is tiny, and usually empty.
      const tables = jobs.filter((step) => step.table !== 'f')
      expect(tables.some((step) => /^(ALL|index)$/.test(step.access))).toBe(false)
      const advance = await explain(found(statements, /^UPDATE/))
      expect(advance.some((step) => primary.test(step.key))).toBe(true)
      expect(advance.some((step) => step.table === 't' && step.access === 'ALL')).toBe(false)
    })

    it('a poll reads one end of each of two indexes, and probes each group and task', async () => {
      const [statement] = await statementsOf(() => recorded.store.scheduling.look(['task']))
      const steps = await explain(statement)
      if (kind === 'sqlite') {
        expect(steps.map((step) => step.key).filter((key) => key !== '')).toEqual(
          expect.arrayContaining(['periodic_task_wake_at', 'job_due', 'job_claim']),
        )
        expect(steps.some((step) => /SCAN (job|periodic_task)/.test(step.extra))).toBe(false)
      } else {
        expect(steps.filter((step) => step.extra.includes('Select tables optimized away'))).toHaveLength(2)
        expect(steps.find((step) => step.table === 'job')?.extra).toContain('Using index for group-by')
      }
    })

    it('messages in a log are replaced in a few statements, by key', async () => {
      const lines = Array.from({ length: 1200 }, (_, index) => `line ${index}`)
      await insertAll(
        database,
        'job_log (job_id, message)',
        lines.map((line) => ['j00001', line]),
      )
      const replacements = new Map(lines.map((line) => [line, `${line} without the secret`]))
      const statements = await statementsOf(() =>
        recorded.store.executing.replaceLogs('j00001', replacements),
      )
      expect(statements.map((statement) => /^\w+/.exec(statement)?.[0])).toEqual(
        Array.from({ length: 3 }, () => ['SELECT', 'UPDATE']).flat(),
      )
      const [read] = await explain(statements[0])
      expect(read?.key).toBe('job_log_job')
      const written = await explain(statements[1])
      expect(
        written.some((step) => primary.test(step.key) || /USING INTEGER PRIMARY KEY/.test(step.extra)),
      ).toBe(true)
      const [left] = await database.query(
        "SELECT COUNT(*) AS n FROM job_log WHERE job_id = 'j00001' AND message NOT LIKE '% without the secret'",
      )
      expect(Number(left?.['n'])).toBe(0)
    })

    it('due jobs are found by due_at, in index order', async () => {
      const statements = await statementsOf(() => recorded.store.executing.promoteDue(100))
      await readsBy(found(statements, /^SELECT.*due_at <=/s), /^job_due$/)
      await readsBy(found(statements, /^UPDATE/), primary)
    })

    it('a claim probes groups and tasks, takes jobs in the order of the claim index, and writes by key [L23]', async () => {
      const statements = await statementsOf(() =>
        recorded.store.executing.claim(WORKER, policies('task', 'other'), 50, ''),
      )
      const turns = await explain(found(statements, TURNS))
      if (kind === 'sqlite') expect(turns.some((step) => /SCAN job/.test(step.extra))).toBe(false)
      else expect(turns.find((step) => step.table === 'job')?.extra).toContain('Using index for group-by')
      await readsBy(found(statements, CLAIM), /^job_claim$/)
      for (const update of statements.filter((statement) => statement.startsWith('UPDATE')))
        await readsBy(update, primary)
    })

    it.each([
      ['of a user', {}, ['job_open_submitter', 'job_state']],
      [
        'of a schedule',
        { periodic_task_id: 'moving', slot: '2026-01-01 00:00:00.000' },
        ['job_open', 'job_state'],
      ],
      ['without a user or a schedule', {}, ['job_state']],
    ])('a claim of a job %s moves two index entries, and the outcome moves %j', async (of, columns, ends) => {
      const row = { id: 'moving', task: 'moving', submitter: of === 'of a user' ? 'user' : null, ...columns }
      await insert(database, 'job', row)
      const waiting = await entriesOf('moving')
      const [job] = await recorded.store.executing.claim(WORKER, policies('moving'), 1, '')
      if (job === undefined) throw new Error('no job was claimed')
      const running = await entriesOf('moving')
      expect(moved(waiting, running)).toEqual(['job_claim', 'job_state'])
      const end = { kind: 'success', result: '1' } as const
      await write(recorded.store).settle([{ fence: fenceOf(job), policy: job.policy, end }])
      expect(moved(running, await entriesOf('moving'))).toEqual(ends)
      await database.query("DELETE FROM job WHERE id = 'moving'")
    })

    it('three statements claim a hundred simple jobs, and two more find them by key and write their outcomes', async () => {
      const names = Array.from({ length: 100 }, (_, index) => `simple ${index}`)
      await insertAll(
        database,
        'job (id, task)',
        names.map((id) => [id, 'simple']),
      )
      let jobs: ClaimedJob[] = []
      const claiming = await statementsOf(async () => {
        jobs = await recorded.store.executing.claim(WORKER, policies('simple'), 100, '')
      })
      expect(jobs).toHaveLength(100)
      expect(claiming).toHaveLength(3)
      const ends = jobs.map((job, index) => ({
        fence: fenceOf(job),
        job,
        policy: job.policy,
        end: { kind: 'success', result: String(index) } as const,
      }))
      const settling = await statementsOf(() => write(recorded.store).settle(ends))
      expect(settling).toHaveLength(2)
      await readsBy(settling[0], primary)
      const steps = await explain(settling[1])
      expect(steps.some((step) => primary.test(step.key))).toBe(true)
      expect(steps.filter((step) => step.table !== 'j').map((step) => step.access)).not.toContain('ALL')
      expect(await database.query("SELECT id FROM job WHERE task = 'simple' AND state <> 'success'")).toEqual(
        [],
      )
    })

    it.each([true, false])('settling reads and writes by key; claimed jobs passed: %s', async (isKnown) => {
      const jobs = await recorded.store.executing.claim(WORKER, policies('task', 'other'), 50, '')
      const attempts = jobs.map((job) => ({
        fence: fenceOf(job),
        ...(isKnown && { job }),
        end: { kind: 'success', result: null } as const,
        policy: job.policy,
      }))
      const statements = await statementsOf(() => write(recorded.store).settle(attempts))
      for (const statement of statements.filter((text) => text.startsWith('SELECT id')))
        await readsBy(statement, primary)
      for (const statement of statements.filter((text) => text.startsWith('UPDATE'))) {
        const steps = await explain(statement)
        expect(
          steps.some((step) => primary.test(step.key)),
          statement,
        ).toBe(true)
        expect(steps.some((step) => step.table === 't' && step.access === 'ALL')).toBe(false)
      }
      const blocked = await explain(found(statements, /^SELECT MIN\(id\)/))
      expect(blocked.map((step) => step.key)).toEqual(expect.arrayContaining(['job_open']))
    })

    // In a cluster, two transactions conflict only if both write the same row.
    it('settling a job writes the row of its schedule even if the schedule stays the same', async () => {
      await database.query("INSERT INTO periodic_task (id, task, timer) VALUES ('same', 'task', 'daily')")
      await database.query(
        `INSERT INTO job (id, task, periodic_task_id, slot, run, state, worker, attempt, claim)
         VALUES ('same job', 'task', 'same', '2026-01-01 00:00:00.000', 1, 'running', '${WORKER}', 1, 1)`,
      )
      await database.query(`${ADOPT} WHERE id = 'same job'`)
      const fence = { id: 'same job', worker: WORKER, claim: 1 }
      const [policy] = policies('task').values()
      if (policy === undefined) throw new Error('no policy')
      const statements = await statementsOf(() =>
        write(recorded.store).settle([{ fence, end: { kind: 'cancelled', error: null }, policy }]),
      )
      expect(statements.filter((text) => /SET error_count = error_count \+ 1/.test(text))).toHaveLength(2)
      const row = await database.query("SELECT error_count FROM periodic_task WHERE id = 'same'")
      expect(row).toEqual([{ error_count: 0 }])
      await database.query("DELETE FROM job WHERE id = 'same job'")
      await database.query("DELETE FROM periodic_task WHERE id = 'same'")
    })

    // Without the confirming write, the heartbeat of a worker that this server does not know would write nothing, so
    // even a replaced server would commit it.
    it('the absence of a row is confirmed by a write, because a replaced server can read but cannot commit [L54]', async () => {
      const written = async (work: () => Promise<unknown>) =>
        (await statementsOf(work)).flatMap((text) => /^(?:INSERT INTO|DELETE FROM) `worker`/.exec(text) ?? [])
      const confirms = ['INSERT INTO `worker`', 'DELETE FROM `worker`']
      const fence = { id: 'none', worker: 'unknown', claim: 1 }
      const [policy] = policies('task').values()
      if (policy === undefined) throw new Error('no policy')
      const end = { fence, end: { kind: 'success', result: null }, policy } as const
      const { store } = recorded
      expect(await written(() => write(store).settle([end]))).toEqual(confirms)
      expect(await written(() => store.executing.held('unknown'))).toEqual(confirms)
      expect(await written(() => store.workers.heartbeat('unknown'))).toEqual(confirms)
    })

    it('a change to a schedule locks and reads its row before and after the write, always by key', async () => {
      const [first] = (await recorded.store.lists.schedules({ limit: 1 })).items
      const id = first?.id ?? ''
      const statements = await statementsOf(() => recorded.store.schedules.update(id, { summary: 'new' }))
      expect(statements).toHaveLength(3)
      for (const at of [0, 2])
        expect(statements[at]).toMatch(
          kind === 'sqlite' ? /^SELECT .* WHERE id = / : /^SELECT .* FOR UPDATE$/,
        )
      for (const statement of statements) await readsBy(statement, primary)
    })

    it('a batch of any size takes only a few statements', async () => {
      for (const size of [20, 100]) {
        let marks: Awaited<ReturnType<typeof recorded.store.scheduling.markDue>> = []
        const marking = await statementsOf(async () => {
          marks = await recorded.store.scheduling.markDue(WORKER, size, LEASE_MS)
        })
        expect(marks).toHaveLength(size)
        expect(marking).toHaveLength(2)
        const submitting = await statementsOf(() =>
          recorded.store.scheduling.submit(WORKER, marks, submitDue),
        )
        expect(submitting.length, submitting.join('\n')).toBeLessThanOrEqual(4)
        let jobs: Awaited<ReturnType<typeof recorded.store.executing.claim>> = []
        const claiming = await statementsOf(async () => {
          jobs = await recorded.store.executing.claim(WORKER, policies('task'), size, '')
        })
        expect(jobs.length).toBeGreaterThan(size / 4)
        expect(claiming).toHaveLength(3)
        const settling = await statementsOf(() =>
          write(recorded.store).settle(
            jobs.map(({ id, policy, claim }) => ({
              fence: { id, worker: WORKER, claim },
              end: { kind: 'success', result: null },
              policy,
            })),
          ),
        )
        expect(settling.length, settling.join('\n')).toBeLessThanOrEqual(8)
      }
    })

    it('a full sweep finds blocked and running jobs by state, even if the database has table statistics', async () => {
      const [sweep] = await statementsOf(() =>
        recorded.store.scheduling.sweep(WORKER, LEASE_MS, 'everything'),
      )
      const steps = await explain(sweep)
      const keys = steps.map((step) => step.key)
      expect(keys.filter((key) => key === 'job_state').length).toBeGreaterThanOrEqual(2)
      for (const { table, access, extra } of steps) {
        if (table === 'job' || table === 'b')
          expect(access, JSON.stringify(steps)).not.toMatch(/^(ALL|index)$/)
        expect(extra, JSON.stringify(steps)).not.toMatch(/SCAN (job|b)\b/)
      }
    })

    it('stop requests are found by key, and orphans among the few running jobs', async () => {
      const attempts = ['one', 'two'].map((id) => ({ id, worker: 'other/1', claim: 1 }))
      const [stop] = await statementsOf(() => recorded.store.executing.stopRequests(attempts))
      await readsBy(stop, primary)
      const [orphans] = await statementsOf(() => recorded.store.executing.orphans(10))
      expect((await explain(orphans)).map((step) => step.key)).toEqual(
        expect.arrayContaining(['job_state', 'job_held']),
      )
    })

    it('a lookup by an owner uses the index on owners, so it costs the same for every id and reveals nothing about other owners [V3]', async () => {
      const cost = new Map<string, number[]>()
      // An id chosen by code, an id of another owner, and an unused id.
      for (const [owner, index] of [
        [{ submitter: 'ann', group: null }, 'submitter'],
        [{ submitter: null, group: 'acme' }, 'group'],
        [{ submitter: 'ann', group: 'acme' }, 'submitter'],
      ] as const)
        for (const id of ['s1', 'bob/s1', 'none'])
          for (const [table, call, work] of [
            ['periodic_task', 'get', () => recorded.store.schedules.ownedBy(owner).get(id)],
            ['periodic_task', 'delete', () => recorded.store.schedules.ownedBy(owner).delete(id)],
            ['job', 'get', () => recorded.store.jobs.ownedBy(owner).get(id.replace('s1', 'j00001'))],
            [
              'job',
              'cancel',
              () => recorded.store.jobs.ownedBy(owner).cancel(id.replace('s1', 'j00001'), cancel),
            ],
            ['job', 'logs', () => recorded.store.lists.ownedBy(owner).logs(id.replace('s1', 'j00001'), 0, 1)],
          ] as const) {
            const [first = ''] = (await statementsOf(work)).filter((one) => one.includes(`\`${table}\``))
            await readsBy(first, new RegExp(`^${table}_${index}$`))
            if (side === undefined) continue
            const what = `${call} of ${table} by ${index}`
            cost.set(what, [...(cost.get(what) ?? []), await entriesRead(first)])
          }
      for (const [what, entries] of cost) expect(new Set(entries).size, `${what}: ${entries.join()}`).toBe(1)
    })
  })

  describe.skipIf(kind === 'sqlite')('locks', () => {
    it('marking locks only the rows that it marks', async () => {
      const statements = await statementsOf(() => recorded.store.scheduling.markDue(WORKER, 0, LEASE_MS))
      const selection = found(statements, /^SELECT.*wake_at <=/s)?.replace('LIMIT 0', 'LIMIT 50')
      // MariaDB counts both the index entries and the rows.
      expect(await rowsLocked([String(selection)])).toBeLessThanOrEqual(kind === 'mysql' ? 51 : 102)
    })

    it('a claim locks only the rows that it claims [L23]', async () => {
      const statements = await statementsOf(() =>
        recorded.store.executing.claim(WORKER, policies('other', 'task'), 20, ''),
      )
      const selection = String(found(statements, CLAIM))
      const [rows] = await connection().query<RowDataPacket[]>(
        selection.replaceAll('FOR UPDATE SKIP LOCKED', ''),
      )
      expect(rows.length).toBeGreaterThan(10)
      expect(await rowsLocked([selection])).toBeLessThanOrEqual(
        (kind === 'mysql' ? 1 : 2) * rows.length + selection.split('UNION ALL').length,
      )
    })

    it('promoting due jobs locks only those jobs', async () => {
      const statements = await statementsOf(() => recorded.store.executing.promoteDue(0))
      const selection = String(found(statements, /due_at <=/)).replace('LIMIT 0', 'LIMIT 30')
      expect(await rowsLocked([selection])).toBeLessThanOrEqual(kind === 'mysql' ? 31 : 62)
    })

    it('concurrent claims, marks and inserts do not wait for each other [L23]', async () => {
      const other = await createConnection({ uri: database.url })
      try {
        await other.query('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED')
        await other.query('SET innodb_lock_wait_timeout = 1')
        const claims = await statementsOf(() =>
          recorded.store.executing.claim(WORKER, policies('other', 'task'), 20, ''),
        )
        const marks = await statementsOf(() => recorded.store.scheduling.markDue(WORKER, 0, LEASE_MS))
        const claim = String(found(claims, CLAIM))
        const mark = String(found(marks, /wake_at <=/)).replace('LIMIT 0', 'LIMIT 20')
        await connection().query('SET TRANSACTION ISOLATION LEVEL READ COMMITTED')
        await connection().query('START TRANSACTION')
        const [mine] = await connection().query<RowDataPacket[]>(claim)
        const [myMarks] = await connection().query<RowDataPacket[]>(mark)
        await other.query('START TRANSACTION')
        const [theirs] = await other.query<RowDataPacket[]>(claim)
        const [theirMarks] = await other.query<RowDataPacket[]>(mark)
        await other.query(
          "INSERT INTO job (task, group_) VALUES ('task', 'huge'), ('other', 'small 0'), ('task', 'a')",
        )
        await other.query("INSERT INTO periodic_task (id, task, timer) VALUES ('a new one', 'task', 'daily')")
        await other.query('ROLLBACK')
        await connection().query('ROLLBACK')
        const all = [...mine, ...theirs].map((row) => row['id'])
        expect(mine.length).toBeGreaterThan(10)
        expect(theirs.length).toBeGreaterThan(10)
        expect(new Set(all).size).toBe(all.length)
        const marked = [...myMarks, ...theirMarks].map((row) => row['id'])
        expect([myMarks.length, theirMarks.length, new Set(marked).size]).toEqual([20, 20, 40])
      } finally {
        await other.end()
      }
    })

    it('5,000 schedules marked by other workers add no cost to a pass [S2, L2, L33]', async () => {
      const statements = await statementsOf(() => recorded.store.scheduling.markDue(WORKER, 0, LEASE_MS))
      const mark = String(found(statements, /wake_at <=/)).replace('LIMIT 0', 'LIMIT 20')
      const looks = await statementsOf(() => recorded.store.scheduling.look(['task']))
      for (const [statement, most] of [
        [mark, 60],
        [String(looks[0]), 200],
      ] as const) {
        expect(await entriesRead(statement), statement).toBeLessThan(most)
      }
    })

    it('with 3,000 groups, a poll and a claim read only the groups that they need', async () => {
      const rows = Array.from({ length: 3000 }, (_, index) => [`g${index}`, 'task', `group ${index}`])
      await insertAll(database, 'job (id, task, group_)', rows)
      await database.query('ANALYZE TABLE job')
      try {
        const [look] = await statementsOf(() => recorded.store.scheduling.look(['task']))
        expect(await entriesRead(String(look)), look).toBeLessThan(100)
        for (const after of ['', 'group 2', 'small 99999']) {
          const claims = await statementsOf(() =>
            recorded.store.executing.claim(WORKER, policies('other', 'task'), 10, after),
          )
          const turns = String(found(claims, TURNS))
          expect(await entriesRead(turns), turns).toBeLessThan(200)
        }
      } finally {
        await database.query("DELETE FROM job WHERE id LIKE 'g%'")
      }
    })
  })

  describe('when there is nothing to do', () => {
    let calm: TestDatabase
    let seen: Recording

    beforeAll(async () => {
      calm = await bare()
      seen = await recording(calm.url)
      const { openStore } = await import('../support/open-store.ts')
      await (await openStore(calm.url)).close()
      const far = toText(new Date(Date.now() + 1_000_000_000))
      // A mark that lasted more than two leases would be repaired.
      const soon = toText(new Date(Date.now() + 1.9 * LEASE_MS))
      await insertAll(
        calm,
        'periodic_task (id, task, timer, nextrun, planned_from, planned_nextrun, worker, mark_ends)',
        Array.from({ length: 8000 }, (_, index) => [
          `s${index}`,
          'task',
          'yearly',
          far,
          '1|yearly|0|||',
          far,
          ...(index < 20 ? ['other/1', soon] : [null, null]),
        ]),
      )
      await insertAll(
        calm,
        'job (id, task, state, worker)',
        Array.from({ length: 8000 }, (_, index) => [
          `j${index}`,
          'task',
          index < 20 ? 'running' : 'success',
          index < 20 ? 'other/1' : null,
        ]),
      )
      await calm.query(
        "INSERT INTO worker (id, name, host, pid, tasks) VALUES ('other/1', 'other', 'h', 1, '[]')",
      )
      if (kind !== 'sqlite') await calm.query('ANALYZE TABLE periodic_task, job, worker')
      return async () => {
        await seen.store.close()
        await calm.drop()
      }
    })

    const sent = async (work: () => Promise<unknown>): Promise<string[]> => {
      seen.statements.length = 0
      await work()
      return [...seen.statements]
    }

    /** The query plan of the statement on these tables. */
    const plan = async (statement: string | undefined): Promise<Step[]> => {
      const [own, server] = [database, side]
      database = calm
      side = server && (await createConnection({ uri: calm.url, dateStrings: true }))
      try {
        if (kind === 'mysql') await side?.query("SET explain_format = 'TRADITIONAL'")
        return await explain(statement)
      } finally {
        await side?.end()
        database = own
        side = server
      }
    }

    it('a sweep is a single statement, and so is the search for stale marks', async () => {
      const { scheduling } = seen.store
      for (const extent of ['left by workers', 'everything'] as const)
        expect(await sent(() => scheduling.sweep(WORKER, LEASE_MS, extent))).toHaveLength(1)
      expect(await sent(() => scheduling.clearStaleMarks(WORKER, LEASE_MS))).toHaveLength(1)
    })

    it('a quick sweep finds schedules by wake_at, and orphans among the few running jobs', async () => {
      const [statement] = await sent(() => seen.store.scheduling.sweep(WORKER, LEASE_MS, 'left by workers'))
      const steps = await plan(statement)
      expect(
        steps.map((step) => step.key),
        JSON.stringify(steps),
      ).toEqual(expect.arrayContaining(['periodic_task_wake_at', 'job_state', 'job_held']))
    })

    it('syncing an unchanged declared set takes one statement, which finds its schedules by set and id', async () => {
      const sync = () => seen.store.declared.sync(setVersion('a set', ['s1', 's2']), () => setChanges({}))
      await sync()
      const statements = await sent(sync)
      expect(statements).toHaveLength(1)
      const steps = await plan(statements[0])
      for (const { table, access, extra } of steps) {
        if (table === 'periodic_task') expect(access, JSON.stringify(steps)).not.toMatch(/^(ALL|index)$/)
        expect(extra).not.toMatch(/SCAN periodic_task/)
      }
    })
  })

  it.skipIf(kind === 'sqlite')(
    'transactions are READ COMMITTED, regardless of the default of the server [L24]',
    async () => {
      const { MysqlDatabase } = await import('../../src/store/mysql/database.ts')
      const own = new MysqlDatabase(database.url, 2)
      try {
        const seen = await own.transaction(async (sql) => {
          const count = async () =>
            (await sql.rows<{ n: number }>('SELECT COUNT(*) AS n FROM worker'))[0]?.n ?? 0
          const first = await count()
          await database.query(
            "INSERT INTO worker (id, name, host, pid, tasks) VALUES ('new/1', 'new', 'h', 1, '[]')",
          )
          return (await count()) - first
        })
        expect(seen).toBe(1)
      } finally {
        await own.close()
      }
    },
  )
})
