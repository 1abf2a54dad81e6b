/**
 * The harness sees each fault that the product could have: with a protection taken away, a short run must end with
 * violations of the rule that the protection holds; without, with none.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { BREAKS, type Break } from '../../bench/chaos/breaks.ts'
import { check, type Verdict } from '../../bench/chaos/checker/check.ts'
import { editFaults } from '../../bench/chaos/faults/edits.ts'
import { workerFaults } from '../../bench/chaos/faults/workers.ts'
import { readRecord } from '../../bench/chaos/record-files.ts'
import { LEASE_MS, run } from '../../bench/chaos/run.ts'
import { openUrlTarget } from '../../bench/chaos/targets/url.ts'
import { databases } from '../support/databases.ts'
import { say } from '../support/servers-programs.ts'

const SEED = 20261121
const MINUTES = 0.5
const FAULTS = 6
const WORKERS = 3
const SCHEDULES = 60
const LIMIT_MS = 1_200_000

const server = databases.find(({ kind }) => kind === 'mariadb')
const another = databases.find(({ kind }) => kind === 'mysql')

async function verdictOf(broken: Break | null, on: typeof server): Promise<Verdict> {
  if (on === undefined) throw new Error('skipped')
  const database = await on.fresh()
  const folder = mkdtempSync(join(tmpdir(), 'kalends-break-'))
  const target = await openUrlTarget(database.url, { workers: WORKERS, leaseMs: LEASE_MS })
  try {
    const faults = [...workerFaults(target, LEASE_MS), ...editFaults].filter(
      ({ name }) => broken === null || broken.faults.includes(name),
    )
    await run(target, faults, {
      folder,
      seed: SEED,
      minutes: MINUTES,
      faults: faults.length === 0 ? 0 : FAULTS,
      workers: WORKERS,
      schedules: SCHEDULES,
      broken,
      signal: new AbortController().signal,
      say: () => {},
    })
    return check(await readRecord(folder))
  } finally {
    await target.close()
    await database.drop()
    rmSync(folder, { recursive: true })
  }
}

/** Three at a time: more would show what a machine without time to spare does, and not what the break does. */
let lanes: readonly Promise<unknown>[] = Array.from({ length: 3 }, () => Promise.resolve())

function inTurn(work: () => Promise<Verdict>): Promise<Verdict> {
  const [next = Promise.resolve(), ...others] = lanes
  const mine = next.then(work)
  lanes = [...others, mine.catch(() => undefined)]
  return mine
}

describe.concurrent('a product without', { timeout: LIMIT_MS }, () => {
  test.skipIf(server === undefined).each(BREAKS)('$name is found out', async (broken) => {
    const { violations, tally } = await inTurn(() => verdictOf(broken, server))
    say(
      `${broken.name}: ${tally.occurrences} occurrences, violations: ${JSON.stringify(count(violations.map(({ rule }) => rule)))}`,
    )
    expect(tally.occurrences).toBeGreaterThan(100)
    expect(violations.map(({ rule }) => rule)).toEqual(
      expect.arrayContaining([expect.toBeOneOf([...broken.rules])]),
    )
  })
})

// On a server of its own: deadlocks are counted for the whole server, and one of the breaks makes them.
test.skipIf(another === undefined)(
  'and as it is, nothing is found',
  async () => {
    const { violations, tally } = await verdictOf(null, another)
    expect(violations).toEqual([])
    expect(tally.occurrences).toBeGreaterThan(100)
  },
  LIMIT_MS,
)

function count(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}
