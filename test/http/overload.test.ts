/** A flood of requests never delays the loops, and requests beyond the capacity are rejected. */
import { createConnection } from 'mysql2/promise'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { Kalends, task, TooSlowError } from '../../src/index.ts'
import { MysqlDatabase } from '../../src/store/mysql/database.ts'
import { signal, until } from '../kalends/scene.ts'
import { eachDatabase, sessions, type TestDatabase } from '../support/databases.ts'
import { apiScene } from './scene.ts'

const noop = task('noop')

eachDatabase(({ kind, fresh }) => {
  describe.skipIf(kind === 'sqlite')('while the API uses all its connections', () => {
    /** Locks the row of the schedule 'held', so that each write to it occupies a connection until `release`. */
    async function holdRow({ url }: TestDatabase): Promise<() => Promise<void>> {
      const side = await createConnection({ uri: url })
      onTestFinished(() => side.end())
      await side.query('START TRANSACTION')
      await side.query("SELECT id FROM periodic_task WHERE id = 'held' FOR UPDATE")
      return async () => {
        await side.query('ROLLBACK')
      }
    }

    /** Waits until this many sessions are waiting for the locked row. */
    const waitingSessions = (database: TestDatabase, count: number) =>
      until(async () => {
        const running = await sessions(database)
        return running.filter(({ statement }) => /held.*FOR UPDATE$/s.test(statement ?? '')).length >= count
          ? true
          : null
      })

    it('schedules are submitted and run, and further requests get 503 and Retry-After [V5, L48]', async () => {
      const { database, kalends, call } = await apiScene({ fresh })
      kalends.handle(noop, () => {})
      await kalends.schedules.create({ id: 'held', task: 'noop', timer: 'yearly' })
      await kalends.start()
      const release = await holdRow(database)
      // Two requests are in progress, and 64 are waiting.
      const flood = Array.from({ length: 66 }, () =>
        call('PATCH /api/v1/schedules/held', { body: { summary: 'x' } }),
      )
      await waitingSessions(database, 2)

      const ran = signal(kalends, 'settled', ({ scheduleId }) => scheduleId === 'due')
      await kalends.schedules.create({ id: 'due', task: noop, timer: 'yearly', firstRun: 'now' })
      expect((await ran).state).toBe('success')
      expect(kalends.health()).toMatchObject({ ok: true, reasons: [] })
      expect((await call('GET /health')).status).toBe(200)
      const refused = await call('GET /api/v1/schedules')
      expect(refused).toMatchObject({ status: 503, body: { code: 'OVERLOADED' } })
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)

      await release()
      const statuses = new Set((await Promise.all(flood)).map(({ status }) => status))
      expect([...statuses].every((status) => status === 200 || status === 503)).toBe(true)
      expect((await call('GET /api/v1/schedules')).status).toBe(200)
    })
  })

  it.skipIf(kind === 'sqlite')('health reports that loops wait for a connection [V5]', async () => {
    const database = await fresh()
    const kalends = await Kalends.open(database.url, {
      pollInterval: 50,
      retention: false,
      lease: 1000,
      connections: 3,
    })
    onTestFinished(async () => {
      await kalends.stop({ grace: 0 })
      await database.drop()
    })
    await kalends.start()
    // One loop waits for a locked table, and the others wait for the connection that it uses.
    const side = await createConnection({ uri: database.url })
    onTestFinished(() => side.end())
    await side.query('LOCK TABLES periodic_task WRITE, job WRITE, worker WRITE')
    const note = await until(async () => {
      const found = kalends.health().reasons.find(({ code }) => code === 'no-connection')
      return found ?? null
    })
    expect(note.text).toMatch(/has waited .* for a connection/)
    await side.query('UNLOCK TABLES')
    await until(async () => (kalends.health().ok ? true : null))
  })

  describe.skipIf(kind === 'sqlite')('a statement that exceeds its time limit', () => {
    const SLOW = 'SELECT one FROM (SELECT 1 AS one UNION SELECT 2) AS two WHERE SLEEP(60) = 0'

    it('is ended', async () => {
      const { url, drop } = await fresh()
      const limited = new MysqlDatabase(url, 1, { statementLimitMs: 100 })
      onTestFinished(async () => {
        await limited.close()
        await drop()
      })
      await expect(limited.rows(SLOW)).rejects.toThrow(TooSlowError)
      const [[session]] = [await limited.rows<{ id: number }>('SELECT CONNECTION_ID() AS id')]
      await expect(limited.transaction((sql) => sql.rows(SLOW))).rejects.toThrow(/longer than 0\.1 s; narrow/)
      expect(await limited.rows('SELECT CONNECTION_ID() AS id')).toEqual([session])
    })

    it('causes a 503 with Retry-After', async () => {
      const { kalends, call } = await apiScene({ fresh })
      vi.spyOn(kalends.api, 'workers').mockRejectedValue(new TooSlowError('It took longer than 5 s'))
      const slow = await call('GET /api/v1/workers')
      expect(slow).toMatchObject({ status: 503, body: { code: 'TOO_SLOW' } })
      expect(slow.headers.get('retry-after')).toBe('5')
    })
  })

  describe.runIf(kind === 'sqlite')('on the single connection of SQLite', () => {
    it('requests beyond the capacity of the queue are rejected, and schedules are submitted and run ahead of the queue', async () => {
      const { kalends, call } = await apiScene({ fresh })
      kalends.handle(noop, () => {})
      await kalends.start()
      let answered = 0
      const ran = signal(kalends, 'settled').then(() => answered)
      await kalends.schedules.create({ id: 'due', task: noop, timer: 'yearly', firstRun: 'now' })
      const flood = Array.from({ length: 100 }, async () => {
        const reply = await call('GET /api/v1/jobs?args=nowhere')
        if (reply.status === 200) answered += 1
        return reply.status
      })
      expect(await ran).toBeLessThan(65)
      const statuses = await Promise.all(flood)
      expect(statuses.filter((status) => status === 503)).toHaveLength(35)
      expect(statuses.filter((status) => status === 200)).toHaveLength(65)
      expect(kalends.health()).toMatchObject({ ok: true })
    })
  })

  it('concurrent requests are parsed and answered in separate turns of the event loop', async () => {
    const { kalends, call } = await apiScene({ fresh })
    kalends.handle(noop, () => {})
    let turn = 0
    let isOver = false
    const next = () => {
      turn += 1
      if (!isOver) setImmediate(next)
    }
    setImmediate(next)
    onTestFinished(() => void (isOver = true))
    const { parse, stringify } = JSON
    const turns = { parsed: [] as number[], written: [] as number[] }
    const body = { task: 'noop', subject: 'one of many' }
    vi.spyOn(JSON, 'parse').mockImplementation((text: string, reviver) => {
      if (text === stringify(body)) turns.parsed.push(turn)
      return parse(text, reviver)
    })
    vi.spyOn(JSON, 'stringify').mockImplementation((value) => {
      if (value?.subject === body.subject && value.id !== undefined) turns.written.push(turn)
      return stringify(value)
    })
    onTestFinished(() => void vi.restoreAllMocks())
    const replies = await Promise.all(Array.from({ length: 20 }, () => call('POST /api/v1/jobs', { body })))
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([201]))
    for (const each of [turns.parsed, turns.written]) {
      expect(each).toHaveLength(20)
      expect(new Set(each).size).toBe(20)
    }
  })

  it('a list of large jobs stays small and names the omitted values; a single job is complete [V5, L49]', async () => {
    const { database, kalends, call } = await apiScene({ fresh }, {}, { redact: ['args.password'] })
    const large = JSON.stringify({ password: 'secret', text: 'x'.repeat(900_000) })
    for (let index = 0; index < 30; index += 1)
      await database.query(`INSERT INTO job (id, task, args) VALUES (?, 'mail', ?)`, [`j${index}`, large])
    const list = await call('GET /api/v1/jobs?limit=1000')
    expect(list.body.items).toHaveLength(30)
    expect(list.text.length).toBeLessThan(100_000)
    expect(list.text).not.toContain('secret')
    expect(list.body.items[0]).toMatchObject({ args: null, truncated: { args: large.length } })
    const one = await call('GET /api/v1/jobs/j0')
    expect(one.body.args.text).toHaveLength(900_000)
    expect(one.body.args.password).toBe('[redacted]')
    // A job inserted in SQL runs, regardless of its size.
    const task900 = task<{ text: string }>('mail')
    kalends.handle(task900, ({ args }) => args.text.length)
    const ran = signal(kalends, 'settled', ({ jobId }) => jobId === 'j0')
    await kalends.start()
    expect(await ran).toMatchObject({ state: 'success', result: 900_000 })
  })

  it('args beyond the limit are rejected at every entry point, with the field and the size [V5]', async () => {
    const { kalends, call } = await apiScene({ fresh }, {}, { argsLimit: 100 })
    const fits = { text: 'ä'.repeat(44) }
    expect(Buffer.byteLength(JSON.stringify(fits))).toBe(99)
    const args = { text: 'ä'.repeat(45) }
    const mail = task<{ text: string }>('mail')
    await kalends.jobs.submit(mail, fits)
    await kalends.schedules.create({ id: 'a', task: mail, timer: 'daily', args: fits })
    const refused = /^args: 101 bytes of JSON exceed the limit of 100/
    const { jobs, schedules } = kalends
    await expect(jobs.submit(mail, args)).rejects.toThrow(refused)
    await expect(jobs.submitMany([{ task: mail, args }])).rejects.toThrow(refused)
    await expect(schedules.create({ task: mail, timer: 'daily', args })).rejects.toThrow(refused)
    await expect(schedules.put('a', { task: mail, timer: 'daily', args })).rejects.toThrow(refused)
    await expect(schedules.update('a', { args })).rejects.toThrow(refused)
    await expect(schedules.runNow('a', { args })).rejects.toThrow(refused)
    kalends.handle(mail, () => {})
    kalends.declare('set', [{ id: 'declared', task: mail, timer: 'daily', args }])
    await expect(kalends.check()).rejects.toThrow(/101 bytes/)
    const body = { task: 'mail', args }
    expect(await call('POST /api/v1/jobs', { body })).toMatchObject({
      status: 422,
      body: { field: 'args', detail: expect.stringMatching(/limit of 100/) },
    })
  })
})
