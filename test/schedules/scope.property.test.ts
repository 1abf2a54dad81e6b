/** A scope reaches only its own rows, whatever the call and the id. */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Kalends, KalendsError, type Scope, task } from '../../src/index.ts'
import { scene } from '../kalends/scene.ts'
import { eachDatabase, type Row, type TestDatabase } from '../support/databases.ts'

const work = task('work')
const isFull = process.env['KALENDS_TEST_SUITE'] === 'full'

const OWNERS = [
  { group: 'shop', submitter: 'anna' },
  { group: 'shop', submitter: 'ben' },
  { group: 'bank', submitter: 'anna' },
] as const
/** The last id of each is the whole id of a row of another owner. */
const SCHEDULES = ['s0', 's1', 's2', 's3', 'shop:anna/s0']
const JOBS = ['j0', 'j1', 'j2', 'j3', 'shop:anna/j0']
const MARK = 'belongs to '

type Owner = (typeof OWNERS)[number]
const nameOf = ({ group, submitter }: Owner) => `${group}/${submitter}`

const schedule = fc.constantFrom(...SCHEDULES)
const job = fc.constantFrom(...JOBS)
/** Values that a user may try to write, such as the group and the submitter of another owner. */
const foreign = fc.constantFrom({}, ...OWNERS)
const timer = fc.constantFrom('yearly', '*-02-29', 'every 1w')

type Call = (scope: Scope, owner: Owner) => Promise<unknown>

/** Every method, called with ids of any owner. */
const call: fc.Arbitrary<Call> = fc.oneof(
  fc.record({ id: schedule, timer, foreign }).map(
    (given): Call =>
      ({ schedules }, owner) =>
        schedules.create({
          task: work,
          args: { of: MARK + nameOf(owner) },
          ...given.foreign,
          id: given.id,
          timer: given.timer,
        }),
  ),
  fc.record({ id: schedule, timer, foreign }).map(
    (given): Call =>
      ({ schedules }, owner) =>
        schedules.put(given.id, {
          task: work,
          args: { of: MARK + nameOf(owner) },
          ...given.foreign,
          timer: given.timer,
        }),
  ),
  fc.record({ id: schedule, timer, foreign }).map(
    (given): Call =>
      ({ schedules }) =>
        schedules.update(given.id, { ...given.foreign, timer: given.timer, summary: 'updated' }),
  ),
  ...(['get', 'pause', 'resume', 'reset', 'delete', 'runNow', 'elapses', 'history', 'explain'] as const).map(
    (method) =>
      schedule.map(
        (id): Call =>
          ({ schedules }) =>
            schedules[method](id),
      ),
  ),
  fc.record({ foreign, id: schedule }).map(
    (given): Call =>
      ({ schedules }) =>
        schedules.list({ ...given.foreign }),
  ),
  fc.record({ id: job, foreign }).map(
    (given): Call =>
      ({ jobs }, owner) =>
        jobs.submit(work, { of: MARK + nameOf(owner) }, { ...given.foreign, id: given.id }),
  ),
  fc.record({ id: job, foreign }).map(
    (given): Call =>
      ({ jobs }, owner) =>
        jobs.submitMany([{ task: work, args: { of: MARK + nameOf(owner) }, ...given.foreign, id: given.id }]),
  ),
  ...(['get', 'cancel', 'retry', 'logs', 'attempts'] as const).map((method) =>
    job.map(
      (id): Call =>
        ({ jobs }) =>
          jobs[method](id),
    ),
  ),
  job.map(
    (id): Call =>
      ({ jobs }) =>
        jobs.wait(id, { timeout: 0 }),
  ),
  fc.record({ foreign, id: schedule, by: fc.boolean() }).map(
    (given): Call =>
      ({ jobs }) =>
        jobs.list({ ...given.foreign, ...(given.by && { scheduleId: given.id }) }),
  ),
)

/** All schedules and jobs of other owners in the database. */
async function rowsOfOthers(database: TestDatabase, owner: Owner): Promise<Row[][]> {
  const others = `NOT (group_ = '${owner.group}' AND submitter = '${owner.submitter}')`
  return [
    await database.query(`SELECT * FROM periodic_task WHERE ${others} ORDER BY id`),
    await database.query(`SELECT * FROM job WHERE ${others} ORDER BY id`),
  ]
}

async function fill(kalends: Kalends, database: TestDatabase): Promise<void> {
  for (const table of ['periodic_task', 'job', 'job_log', 'attempt'])
    await database.query(`DELETE FROM ${table}`)
  for (const [index, owner] of OWNERS.entries()) {
    const { schedules, jobs } = kalends.scope({ ...owner, tasks: ['work'] })
    const of = MARK + nameOf(owner)
    await schedules.create({ id: `s${index}`, task: work, timer: 'yearly', args: { of } })
    await jobs.submit(work, { of }, { id: `j${index}` })
    await database.query(
      `INSERT INTO job_log (job_id, message) VALUES ('${owner.group}:${owner.submitter}/j${index}', '${of}')`,
    )
    await database.query(
      `INSERT INTO attempt (job_id, claim, attempt, worker, started, ended, outcome, error)
       SELECT job_id, 1, 1, 'w/1', at, at, 'failed', message FROM job_log
       WHERE message = '${of}'`,
    )
  }
}

eachDatabase((under) => {
  it('random calls with ids of other owners read nothing and change nothing outside the scope [U1, L18]', {
    timeout: 120_000,
  }, async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(...OWNERS), call), { minLength: 1, maxLength: 15 }),
        async (calls) => {
          await fill(kalends, database)
          for (const [owner, run] of calls) {
            const before = await rowsOfOthers(database, owner)
            const answer: unknown = await run(kalends.scope({ ...owner, tasks: ['work'] }), owner).catch(
              (error: unknown) => {
                // Every rejection is a KalendsError, never a database error.
                if (!(error instanceof KalendsError)) throw error
                return error.message
              },
            )
            expect(await rowsOfOthers(database, owner)).toEqual(before)
            const text = JSON.stringify(answer) ?? ''
            for (const other of OWNERS) if (other !== owner) expect(text).not.toContain(MARK + nameOf(other))
          }
        },
      ),
      { numRuns: isFull && under.kind === 'sqlite' ? 100 : 40 },
    )
  })
})
