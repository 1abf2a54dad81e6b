/** Ids and names have the same limit on every database: 254 characters, which must be ASCII in job ids. */
import { createConnection } from 'mysql2/promise'
import { expect, it } from 'vitest'
import { fenceOf } from '../../src/model/job.ts'
import { chosenJobId, newId } from '../../src/model/owner.ts'
import { NAME_LIMIT } from '../../src/model/settings.ts'
import {
  clock,
  insert,
  newJob,
  onEachStore,
  planned,
  policies,
  setChanges,
  settings,
  setVersion,
  submitDue,
} from './conformance.ts'
import { recording } from './recording.ts'
import { write } from './writes.ts'

/** One character that has two code units in JavaScript and four bytes in UTF-8. */
const WIDE = '👍'
/** Returns a name of the maximum length that ends with `end`. */
const name = (end = WIDE, limit = NAME_LIMIT) => `${WIDE.repeat(limit - 1)}${end}`
const jobId = (end = '~', limit = NAME_LIMIT) => `${'~'.repeat(limit - 1)}${end}`

const NAMES: readonly (readonly [table: string, column: string])[] = [
  ...['id', 'task', 'group_', 'submitter', 'declared_by'].map((column) => ['periodic_task', column] as const),
  ...['task', 'group_', 'submitter', 'periodic_task_id'].map((column) => ['job', column] as const),
  ['declared_set', 'name'],
]
const JOB_IDS = [
  ['job', 'id'],
  ['attempt', 'job_id'],
  ['job_log', 'job_id'],
  ['periodic_task', 'last_job'],
  ['periodic_task', 'uid'],
  ['job', 'periodic_task_uid'],
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
    outcome: 'failed',
  },
  declared_set: { name: 'set', hash: 'hash', schedules: '[]' },
}

onEachStore((under) => {
  it.each([...NAMES, ...JOB_IDS])('%s.%s accepts 254 characters but no more [V9]', async (table, column) => {
    const isJobId = JOB_IDS.some(([of, one]) => of === table && one === column)
    const text = isJobId ? jobId : name
    await insert(under, table, { ...ROWS[table], [column]: text() })
    expect(await under.query(`SELECT ${column} AS value FROM ${table}`)).toEqual([{ value: text() }])
    await under.query(`DELETE FROM ${table}`)
    await expect(
      insert(under, table, { ...ROWS[table], [column]: text(undefined, NAME_LIMIT + 1) }),
    ).rejects.toThrow()
    expect(await under.query(`SELECT 1 FROM ${table}`)).toEqual([])
  })

  it('schedules with the longest ids and names are marked, submitted, claimed, settled and listed by page [V9]', async () => {
    const { scheduling, executing, lists, schedules, jobs } = under.store
    const due = new Date((await clock(under)).getTime() - 1000)
    const ends = ['a', 'b', 'c']
    const common = { task: name(), group_: name(), submitter: name(), declared_by: name() }
    for (const end of ends) await planned(under, name(end), due, common)
    const marks = await scheduling.markDue('w/1', 100, 60_000)
    expect(marks.map(({ id }) => id).toSorted()).toEqual(ends.map((end) => name(end)))
    const { submissions } = await scheduling.submit('w/1', marks, submitDue)
    expect(submissions).toHaveLength(ends.length)
    const claimed = await executing.claim('w/1', policies(name()), 100, name('a'))
    expect(claimed.map(({ scheduleId }) => scheduleId ?? '').toSorted()).toEqual(ends.map((end) => name(end)))
    const { settled } = await write(under.store).settle(
      claimed.map((each) => ({
        fence: fenceOf(each),
        end: { kind: 'success', result: null },
        policy: each.policy,
      })),
    )
    expect(settled).toHaveLength(ends.length)
    expect((await lists.recentRuns([name('b')], 5)).get(name('b'))).toHaveLength(1)
    for (const filter of [
      {},
      { task: name() },
      { group: name() },
      { submitter: name() },
      { declaredBy: name() },
      { order: 'nextRunAt' as const },
    ]) {
      const seen: string[] = []
      for (let after: string | undefined, more = true; more; ) {
        const page = await lists.schedules({ limit: 1, ...filter, ...(after !== undefined && { after }) })
        seen.push(...page.items.map(({ id }) => id))
        after = page.next ?? undefined
        more = page.next !== null
      }
      expect(seen.toSorted(), JSON.stringify(filter)).toEqual(ends.map((end) => name(end)))
    }
    const owned = schedules.ownedBy({ group: name(), submitter: name() })
    expect(await owned.get(name('b'))).toMatchObject({ id: name('b'), runCount: 1 })
    expect(await jobs.ownedBy({ group: name('x'), submitter: null }).get(claimed[0]?.id ?? '')).toBeNull()
    expect(await owned.delete(name('b'))).toMatchObject({ id: name('b') })
  })

  it('jobs with the longest ids are submitted, logged, retried, cancelled, listed by page and pruned [V9]', async () => {
    const { jobs, executing, lists, retention } = under.store
    const ends = ['a', 'b', 'c']
    await jobs.submit(
      ends.map((end) => newJob(jobId(end), { task: name(), group: name(), submitter: name() })),
    )
    await expect(jobs.submit([newJob(jobId('a'))])).rejects.toThrow(/already exists/)
    const claimed = await executing.claim('w/1', policies([name(), { retryDelay: 0 }]), 2, '')
    expect(claimed.map(({ id }) => id)).toEqual([jobId('a'), jobId('b')])
    await executing.saveProgress(claimed.map((each) => ({ fence: fenceOf(each), json: '0.5' })))
    await executing.appendLogs([{ jobId: jobId('a'), at: new Date(), level: 'info', message: 'text' }])
    const { settled } = await write(under.store).settle(
      claimed.map((each) => ({
        fence: fenceOf(each),
        end: { kind: 'error', error: 'E', permanent: true },
        policy: each.policy,
      })),
    )
    expect(settled).toHaveLength(2)
    expect(await lists.logs(jobId('a'), 0, 10)).toHaveLength(1)
    expect(await lists.attempts(jobId('a'), 10)).toHaveLength(1)
    expect(await jobs.get(jobId('a'))).toMatchObject({ state: 'failed', error: 'E' })
    expect(await jobs.existing(ends.map((end) => jobId(end)))).toHaveLength(3)
    expect(await write(under.store).cancel(jobId('c'))).toMatchObject({ state: 'cancelled' })
    for (const filter of [
      {},
      { task: name() },
      { group: name() },
      { submitter: name() },
      { id: jobId('', 200) },
    ]) {
      const first = await lists.jobs({ limit: 2, ...filter })
      expect(first.items.map(({ id }) => id)).toEqual([jobId('c'), jobId('b')])
      const second = await lists.jobs({ limit: 2, ...filter, after: first.next ?? '' })
      expect(second.items.map(({ id }) => id)).toEqual([jobId('a')])
    }
    expect((await lists.jobs({ limit: 5, id: jobId('b') })).items.map(({ id }) => id)).toEqual([jobId('b')])
    expect(await write(under.store).retry(jobId('a'))).toMatchObject({ state: 'waiting' })
    expect(await retention.prune({ ageMs: -60_000, perSchedule: 10 }, 10)).toBe(2)
    expect(await under.query('SELECT id FROM job')).toEqual([{ id: jobId('a') }])
  })

  it('owners with long non-ASCII names can choose ids of jobs and schedules', async () => {
    const { jobs, schedules, lists } = under.store
    for (const owner of [
      { group: name(), submitter: name() },
      { group: null, submitter: 'Zoë 日本' },
    ]) {
      const own = { group: owner.group ?? '', submitter: owner.submitter }
      const id = chosenJobId(owner, 'chosen')
      await jobs.submit([newJob(id, own)])
      expect(await jobs.ownedBy(owner).get('chosen')).toMatchObject({ id: 'chosen', ...own })
      expect(await jobs.ownedBy({ ...owner, submitter: 'bob' }).get('chosen')).toBeNull()
      const found = await lists.ownedBy(owner).jobs({ limit: 10, id: 'cho' })
      expect(found.items.map((job) => job.id)).toEqual(['chosen'])
      await write(under.store).create(newId(owner, WIDE), settings(own))
      expect(await schedules.ownedBy(owner).get(WIDE)).toMatchObject({ id: WIDE, ...own })
    }
  })

  it('declared sets and their schedules can have the longest names', async () => {
    const { declared, schedules } = under.store
    const version = setVersion(name(), [name('a')])
    const created = { id: name('a'), settings: settings({ declaredBy: name() }) }
    const changes = setChanges({ create: [created] })
    await declared.sync(version, () => changes)
    expect(await schedules.get(name('a'))).toMatchObject({ declaredBy: name() })
  })

  if (under.kind !== 'sqlite') {
    it('each index is a B-tree over whole columns, and `job` has only the declared unique indexes [V9]', async () => {
      const wrong = await under.query(
        `SELECT table_name AS name, index_name AS part, index_type AS type, sub_part AS cut
         FROM information_schema.statistics
         WHERE table_schema = DATABASE() AND (index_type <> 'BTREE' OR sub_part IS NOT NULL)`,
      )
      expect(wrong).toEqual([])
      const unique = await under.query(
        `SELECT DISTINCT index_name AS name FROM information_schema.statistics
         WHERE table_schema = DATABASE() AND table_name = 'job' AND non_unique = 0 ORDER BY index_name`,
      )
      expect(unique.map((row) => String(row['name'])).toSorted()).toEqual([
        'PRIMARY',
        'job_occurrence',
        'job_open',
      ])
    })

    it('no statement compares a job id with a value in another character set, because that would scan the table', async () => {
      const { store, statements } = await recording(under.url)
      under.afterwards(() => store.close())
      const owner = { group: null, submitter: 'ann' }
      const own = { submitter: 'ann', task: 'task' }
      await store.jobs.submit(['a', 'b', 'c', 'd'].map((id) => newJob(`ann/${id}`, own)))
      const due = new Date((await clock(under)).getTime() - 1000)
      for (const overlap of ['replace', 'queue-one', 'skip'])
        await planned(under, overlap, due, { overlap, yields: overlap === 'skip' ? 1 : 0 })
      const replacing: typeof submitDue = (schedule, now, open) => ({
        ...submitDue(schedule, now, { ...open, waiting: 0, running: 0 }),
        replaces: schedule.id === 'replace',
      })
      for (let turn = 0; turn < 2; turn += 1) {
        await under.query("UPDATE periodic_task SET nextrun = '2026-01-01 00:00:00', worker = NULL")
        const marks = await store.scheduling.markDue('w/1', 10, 60_000)
        await store.scheduling.submit('w/1', marks, turn === 0 ? submitDue : replacing)
      }
      await store.executing.promoteDue(10)
      const claimed = await store.executing.claim('w/1', policies('task'), 10, '')
      expect(claimed.length).toBeGreaterThan(4)
      await store.executing.saveProgress([
        ...claimed.map((each) => ({ fence: fenceOf(each), json: '1' })),
        { fence: { id: 'none', worker: 'w/1', claim: 1 }, json: '1' },
      ])
      await store.executing.appendLogs([{ jobId: 'ann/a', at: new Date(), level: 'info', message: 'text' }])
      await store.executing.orphans(10)
      await write(store).settle(
        claimed
          .filter(({ id }) => id !== 'ann/a')
          .map((each) => ({
            fence: fenceOf(each),
            end:
              each.id === 'ann/b'
                ? { kind: 'error', error: 'E', permanent: true }
                : { kind: 'success', result: null },
            policy: each.policy,
          })),
      )
      await store.jobs.submit([newJob('ann/e', own)])
      const jobs = store.jobs.ownedBy(owner)
      await jobs.get('a')
      await jobs.existing(['a', 'b'])
      for (const id of ['a', 'e']) await write({ ...store, jobs }).cancel(id)
      await write({ ...store, jobs }).retry('b')
      await write(store).runNow('skip')
      for (const lists of [store.lists, store.lists.ownedBy(owner)]) {
        await lists.jobs({ limit: 1, after: 'a' })
        await lists.jobs({ limit: 1, id: 'a' })
        await lists.jobs({ limit: 1, state: 'failed', after: '2026-01-01 00:00:00.000/ann/a' })
        await lists.jobs({ limit: 1, finishedFrom: due, after: '2026-01-01 00:00:00.000/ann/a' })
        await lists.logs('a', 0, 10)
        await lists.attempts('a', 10)
        await lists.failures({}, 10)
      }
      await store.scheduling.sweep('w/1', 60_000, 'everything')
      await store.retention.prune({ ageMs: -60_000, perSchedule: 1 }, 100)
      const ofJobs = statements.filter((text) => /(?:FROM|UPDATE|JOIN) `(?:job|job_log|attempt)`/.test(text))
      expect(ofJobs.length).toBeGreaterThan(30)
      // With EXPLAIN EXTENDED, MariaDB's warnings contain the rewritten statement with its conversions, for example of
      // batch columns.
      const explain = under.kind === 'mariadb' ? 'EXPLAIN EXTENDED' : 'EXPLAIN'
      const side = await createConnection({ uri: under.url })
      under.afterwards(() => side.end())
      for (const text of ofJobs) {
        expect(text).not.toMatch(/(?<!periodic_task_|s\.)\b(?:job_)?id (?:[<>=]+|(?:NOT )?IN) \(?_utf8mb4/)
        await side.query(`${explain} ${text}`)
        const [notes] = await side.query('SHOW WARNINGS')
        expect(JSON.stringify(notes), text).not.toMatch(/convert\([^()]*\bid`? using utf8mb4/i)
      }
    })
  }
})
