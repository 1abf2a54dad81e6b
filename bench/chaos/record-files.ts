/**
 * A run's record on disk: a folder with everything that the checker needs, which you can keep, send and check again.
 */
import { createReadStream, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import Libsql from 'libsql'
import type { Target } from './fault.ts'
import type { QueuePlace } from './member.ts'
import type { JournalEntry, RowText, RunLine, RunRecord } from './record.ts'

/** Facts about a run in addition to its lines and rows. */
export type RunFacts = Pick<RunRecord, 'target' | 'seed' | 'leaseMs' | 'pollIntervalMs' | 'deadlocks'>

const TABLES = [
  { name: 'schedules', table: 'periodic_task', key: ['id'] },
  { name: 'jobs', table: 'job', key: ['id'] },
  { name: 'attempts', table: 'attempt', key: ['job_id', 'claim'] },
  { name: 'workers', table: 'worker', key: ['id'] },
]
const PAGE = 2000
const QUEUE = 'queue.jsonl'

export function saveFacts(folder: string, facts: RunFacts): void {
  writeFileSync(join(folder, 'run.json'), `${JSON.stringify(facts, null, 2)}\n`)
}

/** Saves the tables page by page, because they may contain hundreds of thousands of rows. */
export async function saveRows(folder: string, target: Pick<Target, 'query'>): Promise<void> {
  for (const { name, table, key } of TABLES) {
    const columns = key.join(', ')
    const more = `WHERE (${columns}) > (${key.map(() => '?').join(', ')})`
    const file = await open(join(folder, `${name}.jsonl`), 'w')
    try {
      let after: readonly (string | number | null)[] = []
      for (;;) {
        const rows = await target.query(
          `SELECT * FROM ${table} ${after.length === 0 ? '' : more} ORDER BY ${columns} LIMIT ${PAGE}`,
          after,
        )
        const last = rows.at(-1)
        if (last === undefined) break
        await file.write(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
        after = key.map((column) => last[column] ?? null)
      }
    } finally {
      await file.close()
    }
  }
}

/** Saves the rows of the application's own queue. */
export async function saveQueue(
  folder: string,
  target: Pick<Target, 'query'>,
  place: QueuePlace,
): Promise<void> {
  const select = 'SELECT id, schedule, state FROM own_job'
  const rows =
    place === 'same' ? await target.query(select) : new Libsql(join(folder, 'queue.db')).prepare(select).all()
  writeFileSync(join(folder, QUEUE), rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
}

/** @throws Error if the folder contains no record of a run */
export async function readRecord(folder: string): Promise<RunRecord> {
  const logs = readdirSync(folder).filter((file) => /^runs-.*\.jsonl$/.test(file))
  const runs: RunLine[] = []
  for (const log of logs.toSorted()) runs.push(...(await lines<RunLine>(join(folder, log))))
  return {
    ...facts(folder),
    journal: await lines<JournalEntry>(join(folder, 'journal.jsonl')),
    runs: runs.toSorted((a, b) => a.mono - b.mono),
    schedules: await lines<RowText>(join(folder, `schedules.jsonl`)),
    jobs: await lines<RowText>(join(folder, `jobs.jsonl`)),
    attempts: await lines<RowText>(join(folder, `attempts.jsonl`)),
    workers: await lines<RowText>(join(folder, `workers.jsonl`)),
    queue: existsSync(join(folder, QUEUE)) ? await lines<RowText>(join(folder, QUEUE)) : null,
  }
}

function facts(folder: string): RunFacts {
  let text: string
  try {
    text = readFileSync(join(folder, 'run.json'), 'utf8')
  } catch (error) {
    throw new Error(`'${folder}' contains no record of a run: run.json is missing`, { cause: error })
  }
  // This module wrote the file.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return JSON.parse(text) as RunFacts
}

/** @typeParam Line  the type of the lines that the harness or one of its workers wrote to the file */
async function lines<Line>(path: string): Promise<Line[]> {
  const read: Line[] = []
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    if (line !== '') read.push(JSON.parse(line) as Line)
  }
  return read
}
