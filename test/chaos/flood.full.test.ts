/**
 * A worker whose API is flooded in every way at once submits on time and reports its health correctly. The worker is a
 * separate process, as in production; requests and time are bounded. Worker, server and flood share the machine, so the
 * permitted lateness is one second plus a multiple of the time that a statement of another client takes during the
 * flood. [Two cores: at most 50 ms late on SQLite, 450 ms on the servers.]
 */
import { connect, type Socket } from 'node:net'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { root, start, temporaryFolder } from '../cli/program.ts'
import { eachDatabase, type TestDatabase } from '../support/databases.ts'

const TOKEN = 'a-token-that-nobody-guesses'
const FLOOD_MS = 12_000
const JOBS = 20_000
const SECOND = 1000
/** The number of statements between the time of a slot and its `submitted`, including those of the previous pass. */
const STATEMENTS = 8

/** Inserts old jobs, whose args a search reads. */
async function fill(database: TestDatabase): Promise<void> {
  const text = 'x'.repeat(300)
  for (let start = 0; start < JOBS; start += 1000) {
    const rows = Array.from(
      { length: 1000 },
      (_, index) =>
        `('old-${start + index}', 'old', '{"text":"${text}"}', 'success', '2026-01-01 00:00:00.000')`,
    )
    await database.query(`INSERT INTO job (id, task, args, state, finished) VALUES ${rows.join(', ')}`)
  }
}

/** Sends the next request after each response or error, until `isOver` returns true. */
function flood(isOver: () => boolean, send: () => Promise<Response>): Promise<number[]> {
  const statuses: number[] = []
  const one = async () => {
    while (!isOver()) {
      const response = await send().catch(() => null)
      await response?.arrayBuffer().catch(() => null)
      if (response === null) await pause(20)
      else statuses.push(response.status)
    }
  }
  return one().then(() => statuses)
}

/** Opens silent connections from many addresses, so that limits per address do not apply. */
function silentSockets(port: number, count: number): Socket[] {
  return Array.from({ length: count }, (_, index) =>
    connect({ port, host: '127.0.0.1', localAddress: `127.0.0.${2 + (index % 20)}` }).on('error', () => {}),
  )
}

eachDatabase(({ fresh }) => {
  it('a flooded worker submits every slot on time, and its health stays ok [V5, L48]', async () => {
    const database = await fresh()
    onTestFinished(() => database.drop())
    const folder = await temporaryFolder()
    const module = join(folder, 'app.mjs')
    await writeFile(
      module,
      `import { task } from ${JSON.stringify(join(root, 'dist/index.js'))}
       export default (kalends) => kalends.handle(task('tick'), () => {})`,
    )
    const worker = start('dist/cli/main.js', ['start', module, '--http', '127.0.0.1:0'], {
      cwd: folder,
      env: { KALENDS_DATABASE: database.url, KALENDS_TOKEN: TOKEN },
    })
    const [, url = ''] = /url=(\S+)/.exec(await worker.until(/The REST API is served url=\S+/)) ?? []
    await worker.until(/Ready/)
    await fill(database)
    await database.query(
      "INSERT INTO periodic_task (id, task, timer, catch_up, overlap) VALUES ('every-second', 'tick', '*:*:*', 100, 'allow')",
    )
    const authorization = `Bearer ${TOKEN}`
    const get = (path: string, headers: Record<string, string> = { authorization }) =>
      fetch(url + path, { headers })
    const quotes = `{"args":{"text":"${'\\"'.repeat(499_000)}`
    let isOver = false
    const over = () => isOver
    const sockets = silentSockets(Number(new URL(url).port), 1000)
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy()
    })
    const floods = [
      ...Array.from({ length: 32 }, () => flood(over, () => get('api/v1/jobs?args=is-nowhere&limit=1000'))),
      ...Array.from({ length: 16 }, () => flood(over, () => get('api/v1/jobs?limit=1000'))),
      ...Array.from({ length: 8 }, () =>
        flood(over, () =>
          fetch(`${url}api/v1/jobs`, {
            method: 'POST',
            headers: { authorization, 'content-type': 'application/json' },
            body: quotes,
          }),
        ),
      ),
      ...Array.from({ length: 8 }, () => flood(over, () => get('/'.repeat(15_000), {}))),
    ]
    const health: [status: number, body: string][] = []
    let slowestMs = 0
    const until = performance.now() + FLOOD_MS
    while (performance.now() < until) {
      const before = performance.now()
      await database.query('SELECT COUNT(*) FROM periodic_task')
      slowestMs = Math.max(slowestMs, performance.now() - before)
      const response = await get('health')
      health.push([response.status, await response.text()])
      await pause(250)
    }
    isOver = true
    const statuses = (await Promise.all(floods)).flat()
    // Many requests were sent, and all responses have a documented status.
    expect(statuses.length).toBeGreaterThan(100)
    expect(statuses.filter((status) => ![200, 400, 413, 414, 429, 503].includes(status))).toEqual([])

    const rows = await database.query(
      "SELECT slot, submitted FROM job WHERE periodic_task_id = 'every-second' AND state <> 'skipped' ORDER BY slot",
    )
    const instant = (value: unknown) =>
      new Date(
        `${value instanceof Date ? value.toISOString() : String(value).replace(' ', 'T')}Z`.replace(
          'ZZ',
          'Z',
        ),
      )
    const slots = rows.map((row) => instant(row['slot']).getTime())
    expect(slots.length).toBeGreaterThanOrEqual(FLOOD_MS / SECOND - 1)
    for (const [index, slot] of slots.entries())
      if (index > 0) expect(slot - (slots[index - 1] ?? 0), `after ${index} slots`).toBe(SECOND)
    const latest = Math.max(
      ...rows.map((row, index) => instant(row['submitted']).getTime() - (slots[index] ?? 0)),
    )
    expect(latest).toBeLessThanOrEqual(SECOND + STATEMENTS * slowestMs)
    // Every health check succeeded.
    expect(health.filter(([status]) => status !== 200)).toEqual([])
  }, 120_000)
})
