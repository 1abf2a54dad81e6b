/**
 * Manually written rows with any value in any column: an invalid row never affects other rows. Other schedules and jobs
 * continue, lists and pages respond, and the loops keep running.
 */
import { inspect } from 'node:util'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { task } from '../../src/index.ts'
import { operations } from '../../src/http/operations.ts'
import { apiScene } from '../http/scene.ts'
import { signal } from '../kalends/scene.ts'
import { eachDatabase, type TestDatabase } from '../support/databases.ts'
import { rowCases } from './bad-rows.ts'

const SEED = Number(process.env['KALENDS_SEED'] ?? 20261121)
const RUNS = Number(process.env['KALENDS_FUZZ_RUNS'] ?? 60)

/** A row with invalid values. */
type BadRow = { readonly table: string; readonly columns: Readonly<Record<string, unknown>> }

/** @returns whether the database accepts the row */
async function write({ kind, query }: TestDatabase, { table, columns }: BadRow): Promise<boolean> {
  const names = Object.keys(columns)
  const into = `${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`
  try {
    await query(`${kind === 'sqlite' ? 'INSERT OR REPLACE' : 'REPLACE'} INTO ${into}`, Object.values(columns))
    return true
  } catch {
    return false
  }
}

eachDatabase((under) => {
  it(`invalid rows do not affect other rows, seed ${SEED}`, { timeout: 300_000 }, async () => {
    const { database, kalends, call, lines } = await apiScene(under, {}, { lease: 3000 })
    if (under.kind !== 'sqlite') await database.query("SET SESSION sql_mode = ''")
    kalends.handle(task('canary'), () => Promise.resolve('sings'))
    kalends.handle(task('other'), () => Promise.resolve(null))
    await kalends.schedules.create({ id: 'canary', task: 'canary', timer: 'yearly', overlap: 'allow' })
    await kalends.start({ concurrency: 4 })
    const reading = operations.filter(({ id, method }) => method === 'GET' && id !== 'followChanges')
    let written = 0

    const sings = async (what: string) => {
      const bySchedule = signal(kalends, 'settled', ({ scheduleId }) => scheduleId === 'canary')
      const byHand = signal(kalends, 'settled', (end) => end.task === 'canary' && end.scheduleId === null)
      await database.query("UPDATE periodic_task SET nextrun = '2000-01-01 00:00:00.000' WHERE id = 'canary'")
      await database.query("INSERT INTO job (task) VALUES ('canary')")
      await within(
        bySchedule,
        `the schedule does not run beside ${what}: ${inspect(lines.slice(-3), { depth: 4 })}`,
      )
      await within(byHand, `the job does not run beside ${what}: ${inspect(lines.slice(-3), { depth: 4 })}`)
    }

    await fc.assert(
      fc.asyncProperty(fc.array(rowCases(under.kind), { minLength: 1, maxLength: 6 }), async (rows) => {
        for (const table of ['periodic_task', 'job', 'job_log', 'attempt', 'declared_set'])
          await database.query(
            `DELETE FROM ${table} ${table === 'periodic_task' ? "WHERE id <> 'canary'" : ''}`,
          )
        await database.query("DELETE FROM worker WHERE name = 'bad'")
        const accepted: BadRow[] = []
        for (const row of rows) if (await write(database, row)) accepted.push(row)
        written += accepted.length
        const what = JSON.stringify(accepted)
        await sings(what)
        for (const { path, method } of reading) {
          const ids = accepted
            .map(({ columns }) => columns['id'])
            .filter((id) => typeof id === 'string' && id !== '')
          for (const id of path.includes('{id}') ? ids : ['']) {
            const target = path.replace('{id}', encodeURIComponent(Buffer.from(String(id)).toString()))
            const query = path.endsWith('/check') || path.includes('timers') ? '?timer=daily' : ''
            const { status, text } = await call(`${method} ${target}${query}`)
            expect(
              status,
              `${target} ${text} beside ${what} ${inspect(lines.slice(-2), { depth: 4 })}`,
            ).toBeLessThan(500)
          }
        }
      }),
      { numRuns: RUNS, seed: SEED, endOnFailure: true },
    )
    expect(written).toBeGreaterThan(RUNS)
    await sings('all that came before')
  })
})

async function within(work: Promise<unknown>, message: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(message)), 15_000)
  })
  try {
    await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
