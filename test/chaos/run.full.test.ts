/**
 * Nothing is lost or duplicated during faults of every kind: a short run of `npm run chaos` on each target, one at a
 * time, because the recovery time of the workers is checked. Longer runs are started manually (docs/reliability.md).
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { TARGETS } from '../../bench/chaos/fault.ts'
import { check } from '../../bench/chaos/checker/check.ts'
import { readRecord } from '../../bench/chaos/record-files.ts'
import { say } from '../support/servers-programs.ts'
import { isAvailable } from './available.ts'
import { OccurrenceFault } from '../support/fault.ts'

const MINUTES = Number(process.env['KALENDS_TEST_CHAOS_MINUTES'] ?? 0.6)
/**
 * The seed is fixed, so that results before and after a change are comparable. Each target adds its index to the seed
 * to draw different faults.
 */
const SEED = Number(process.env['KALENDS_TEST_CHAOS_SEED'] ?? 20261121)
/** Time for the run, for all remaining work, and for starting and stopping servers. */
const LIMIT_MS = MINUTES * 60_000 * 1.5 + 300_000
/**
 * The minimum: about a third of the occurrences that such a run produces on an idle machine. Fewer would mean that the
 * harness does too little.
 */
const LEAST_OCCURRENCES = MINUTES * 60 * 35
const LEAST_FAULTS = MINUTES * 8

const root = fileURLToPath(new URL('../..', import.meta.url))
/** Targets with the most servers come first, because they take longest. */
const targets: { target: string; seed: number }[] = []
for (const [index, target] of TARGETS.entries())
  if (await isAvailable(target)) targets.unshift({ target, seed: SEED + index })

describe('while workers, databases, networks and clocks fail', { timeout: LIMIT_MS }, () => {
  test.each(targets)('nothing is lost or duplicated on $target', async ({ target, seed }) => {
    const folder = mkdtempSync(join(tmpdir(), `kalends-chaos-${target}-`))
    const { code, output } = await chaos([
      target,
      '--minutes',
      String(MINUTES),
      '--seed',
      String(seed),
      '--schedules',
      '100',
      '--folder',
      folder,
    ])
    // The message includes the command that repeats the run.
    say(output.slice(output.indexOf('# Chaos on')))
    const [rules = `exit code ${String(code)}`] = /^\*\*\d+ violations.*$/m.exec(output) ?? []
    if (code !== 0) throw new OccurrenceFault(`${rules}\n${output.slice(-8000)}`)
    const record = await readRecord(folder)
    expect(check(record).tally.occurrences).toBeGreaterThan(LEAST_OCCURRENCES)
    expect(record.journal.filter(({ kind }) => kind === 'fault').length).toBeGreaterThan(LEAST_FAULTS)
    rmSync(folder, { recursive: true })
  })
})

async function chaos(args: readonly string[]): Promise<{ code: unknown; output: string }> {
  const child = spawn(process.execPath, ['--import', 'tsx', 'bench/chaos/main.ts', ...args], {
    cwd: root,
    env: { ...process.env, NODE_OPTIONS: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => {
      output += data.toString()
    })
  const [code] = await once(child, 'close')
  return { code, output }
}
