/**
 * The harness detects missing protections: without a protection, a short run must end with violations of a rule that
 * the protection enforces. With all protections, the same run ends without violations.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { BREAKS, type Break } from '../../bench/chaos/breaks.ts'
import { check, type Verdict } from '../../bench/chaos/checker/check.ts'
import { editFaults } from '../../bench/chaos/faults/edits.ts'
import { workerFaults } from '../../bench/chaos/faults/workers.ts'
import { readRecord } from '../../bench/chaos/record-files.ts'
import { LEASE_MS, run } from '../../bench/chaos/run.ts'
import { openUrlTarget } from '../../bench/chaos/targets/url.ts'
import { findMariadb, startMariadb } from '../support/servers-mariadb.ts'
import { say } from '../support/servers-programs.ts'
import { isAvailable } from './available.ts'

const SEED = 20261121
const MINUTES = 0.4
const FAULTS = 4
/** Enough workers for faults on two of them at the same time. */
const WORKERS = 4
const SCHEDULES = 60
/** A limit for the remaining work, which never ends if certain protections are missing. */
const REST_WITHIN_MS = 30_000
const LIMIT_MS = 600_000

const isHere = await isAvailable('mariadb')
let server = ''

/** A private server, because deadlocks are counted per server, and one of the breaks causes deadlocks. */
beforeAll(async () => {
  const programs = isHere ? await findMariadb() : ''
  if (typeof programs === 'string') return
  const { url, stop } = await startMariadb(programs)
  server = url
  return stop
}, 120_000)

/** @param broken  the missing protection; null for a run with all protections and the faults of all breaks */
async function verdictOf(broken: Break | null): Promise<Verdict> {
  const folder = mkdtempSync(join(tmpdir(), 'kalends-break-'))
  const name = broken?.name ?? 'whole'
  const target = await openUrlTarget(`${server}/${name}`, { workers: WORKERS, leaseMs: LEASE_MS })
  try {
    const wanted = broken?.faults ?? BREAKS.flatMap((each) => each.faults)
    const faults = [...workerFaults(target, LEASE_MS), ...editFaults, ...target.faults].filter((fault) =>
      wanted.includes(fault.name),
    )
    await run(target, faults, {
      folder,
      seed: SEED,
      minutes: MINUTES,
      faults: faults.length === 0 ? 0 : FAULTS,
      workers: WORKERS,
      schedules: SCHEDULES,
      broken,
      restWithinMs: REST_WITHIN_MS,
      signal: new AbortController().signal,
      say: () => {},
    })
    return check(await readRecord(folder))
  } finally {
    await target.close()
    rmSync(folder, { recursive: true })
  }
}

test.skipIf(!isHere)('with all protections, there are no violations', { timeout: LIMIT_MS }, async () => {
  const { violations, tally } = await verdictOf(null)
  expect(violations).toEqual([])
  expect(tally.occurrences).toBeGreaterThan(100)
})

describe.concurrent('a product without', { timeout: LIMIT_MS }, () => {
  test.skipIf(!isHere).each(BREAKS)('$name is detected [L80]', async (broken) => {
    const { violations, tally } = await verdictOf(broken)
    say(
      `${broken.name}: ${tally.occurrences} occurrences, violations: ${JSON.stringify(count(violations.map(({ rule }) => rule)))}`,
    )
    // The minimum is low because some breaks slow the product down.
    expect(tally.occurrences).toBeGreaterThan(20)
    expect(violations.map(({ rule }) => rule)).toEqual(
      expect.arrayContaining([expect.toBeOneOf([...broken.rules])]),
    )
  })
})

function count(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}
