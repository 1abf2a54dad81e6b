/** Instants are the same regardless of the process's time zone. Uses dist/: run `npm run build` first. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { scene } from './scene.ts'
import { eachDatabase } from '../support/databases.ts'

const program = fileURLToPath(new URL('zone-process.mjs', import.meta.url))
const run = promisify(execFile)

/** Zones with and without half-hour offsets and daylight saving time, on both sides of the date line. */
const ZONES = ['UTC', 'Pacific/Kiritimati', 'America/St_Johns', 'Australia/Lord_Howe', 'Europe/Berlin']

eachDatabase((under) => {
  it('processes in all zones store, read and plan the same instants [L21]', async () => {
    const { database } = await scene(under)
    const offsets: unknown[] = []
    for (const [index, zone] of ZONES.entries()) {
      const { stdout } = await run(process.execPath, [program, database.url, `p${index}`], {
        env: { ...process.env, TZ: zone },
      })
      const told: Record<string, unknown> = JSON.parse(stdout)
      offsets.push(told['offsetMinutes'])
      expect(told).toMatchObject({
        planned: '2031-03-30T02:30:00.250Z',
        readBack: '2031-03-30T02:30:00.250Z',
        runAt: '2031-03-30T01:30:00.123Z',
        sameSlot: true,
        localTimer: zone === 'UTC' ? '2031-03-30 12:00' : `2031-03-30 12:00 ${zone}`,
      })
      expect(told['farthestFromNowMs']).toBeLessThan(600_000)
    }
    // The processes really ran in these zones.
    expect(new Set(offsets).size).toBe(ZONES.length)

    expect(await database.query("SELECT DISTINCT nextrun FROM periodic_task WHERE id LIKE '%-utc'")).toEqual([
      { nextrun: '2031-03-30 02:30:00.250' },
    ])
    expect(await database.query("SELECT DISTINCT run_at FROM job WHERE task = 'unknown'")).toEqual([
      { run_at: '2031-03-30 01:30:00.123' },
    ])
    expect(
      await database.query("SELECT nextrun FROM periodic_task WHERE id LIKE '%-local' ORDER BY id"),
    ).toEqual([
      { nextrun: '2031-03-30 12:00:00.000' },
      { nextrun: '2031-03-29 22:00:00.000' },
      { nextrun: '2031-03-30 14:30:00.000' },
      { nextrun: '2031-03-30 01:00:00.000' },
      { nextrun: '2031-03-30 10:00:00.000' },
    ])
  })
})
