/** Values that `redact` hides appear nowhere, and owners learn nothing about the server. */
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { task } from '../../src/index.ts'
import { collect, ended } from '../kalends/scene.ts'
import { databases, eachDatabase } from '../support/databases.ts'
import { apiScene, placesOf } from './scene.ts'

const SECRET = 'hunter2 "quoted" p@ss'
const args = { to: 'x', password: SECRET, accounts: [{ pin: 735_551 }, { pin: 735_552 }] }
const redact = ['args.password', 'args.accounts.pin']
/** Matches the secrets in every form in which a string may contain them. */
const LEAK = /hunter2|p@ss|p%40ss|73555/

const login = task('login', { retries: 1, retryDelay: 1 })

eachDatabase((under) => {
  it('a path without * applies to each array item, even to values that are too short to search for [V6]', async () => {
    const { call, kalends } = await apiScene(under, {}, { redact: ['args.accounts.pin', 'args.lists.0'] })
    const given = {
      accounts: [{ pin: 1, name: 'a' }, { pin: { x: 'y' } }, [{ pin: 'z' }]],
      lists: ['b', 'c'],
    }
    const made = await call('POST /api/v1/schedules', { body: { task: 't', timer: 'daily', args: given } })
    expect(made.body.args).toEqual({
      accounts: [{ pin: '[redacted]', name: 'a' }, { pin: '[redacted]' }, [{ pin: '[redacted]' }]],
      lists: ['[redacted]', 'c'],
    })
    const path = `/api/v1/schedules/${made.body.id}`
    await call(`PATCH ${path}`, { body: { args: made.body.args } })
    expect((await kalends.schedules.get(made.body.id))?.args).toEqual(given)
  })

  it('a secret that a handler throws and logs is in no row, log, event or response [V6]', async () => {
    const { call, kalends, database, lines } = await apiScene(under, {}, { redact })
    const started = collect(kalends, 'started')
    const settled = collect(kalends, 'settled')
    kalends.handle(login, ({ args: given, log }) => {
      log.info(`args: ${JSON.stringify(given)}`)
      log.error(`https://me:${encodeURIComponent(SECRET)}@host`)
      throw new Error(`no login with ${SECRET}`, { cause: new Error(`pin 735551 of ${inspect(given)}`) })
    })
    await call('PUT /api/v1/schedules/s', { body: { task: 'login', timer: 'yearly', args } })
    await kalends.start()
    const { jobId: job } = (await call('POST /api/v1/schedules/s/run')).body
    expect((await ended(kalends, job)).state).toBe('failed')

    const rows = [
      ...(await database.query('SELECT error, reason, progress, result FROM job')),
      ...(await database.query('SELECT message FROM job_log')),
      ...(await database.query('SELECT error FROM attempt')),
      ...(await database.query('SELECT last_error FROM periodic_task')),
    ]
    expect(JSON.stringify(rows)).toContain('no login with [redacted]')
    expect(JSON.stringify(rows)).not.toMatch(LEAK)
    for (const path of placesOf(job)) {
      const reply = await call(`GET /api/v1/${path}`)
      expect([path, reply.status]).toEqual([path, 200])
      expect([path, reply.text]).toEqual([path, expect.not.stringMatching(LEAK)])
    }
    expect(settled.map(({ error }) => error)).toEqual([
      expect.stringContaining('no login with [redacted]'),
      expect.stringContaining('no login with [redacted]'),
    ])
    expect(started).toHaveLength(2)
    expect(JSON.stringify([started, settled])).not.toMatch(LEAK)
    expect(inspect(lines, { depth: 10 })).toContain('no login with [redacted]')
    expect(inspect(lines, { depth: 10 })).not.toMatch(LEAK)
    // Handlers, and code that reads the job, get the original args.
    expect((await kalends.jobs.get(job))?.args).toEqual(args)
  })

  it('a secret in a row that was written before `redact` was set is not shown', async () => {
    const { call, kalends, database } = await apiScene(under, {}, { redact })
    await kalends.schedules.create({ id: 's', task: 'login', timer: 'yearly', args })
    const job = await kalends.schedules.runNow('s')
    const error = `Error: no login with ${SECRET}`
    await database.query(`UPDATE job SET state = 'failed', error = ?, progress = ?, result = ?`, [
      error,
      JSON.stringify({ tried: SECRET, pin: 735_552 }),
      JSON.stringify([`was ${SECRET}`]),
    ])
    await database.query('UPDATE periodic_task SET last_error = ?, last_finished = created', [error])
    await database.query(
      'INSERT INTO job_log (job_id, at, level, message) SELECT id, submitted, ?, ? FROM job',
      ['info', error],
    )
    await database.query(
      `INSERT INTO attempt (job_id, claim, attempt, worker, started, ended, outcome, error)
       SELECT id, 1, 1, 'w/1', submitted, submitted, 'failed', ? FROM job`,
      [error],
    )
    for (const path of placesOf(job)) {
      const { text } = await call(`GET /api/v1/${path}`)
      expect([path, text]).toEqual([path, expect.stringContaining('[redacted]')])
      expect([path, text]).toEqual([path, expect.not.stringMatching(LEAK)])
    }
  })

  it('a list row that omits large args also hides all text that may contain secrets from them', async () => {
    const { call, kalends, database } = await apiScene(under, {}, { redact: ['args.password'] })
    const large = { password: 'hunter2secret', pad: 'x'.repeat(3000) }
    kalends.handle(task<typeof large>('echo'), ({ args: { password }, progress }) => {
      progress({ doing: `sends ${password}` })
      return { echo: `sent with ${password}`, pin: 73_555 }
    })
    await kalends.schedules.create({ id: 's', task: 'echo', timer: 'yearly', args: large })
    await kalends.start()
    const job = await ended(kalends, await kalends.schedules.runNow('s'))
    expect((await call(`GET /api/v1/jobs/${job.id}`)).body.result.echo).toBe('sent with [redacted]')
    const error = 'Error: no login with hunter2secret'
    await database.query(`UPDATE job SET state = 'failed', slot = submitted, error = ?`, [error])
    await database.query('UPDATE periodic_task SET last_error = ?, last_finished = created', [error])
    const hidden = {
      args: null,
      result: { '[redacted]': '[redacted]', '[redacted] 2': '[redacted]' },
      progress: { '[redacted]': '[redacted]' },
      error: '[redacted]',
    }
    for (const path of ['jobs', 'schedules/s/history'])
      expect((await call(`GET /api/v1/${path}`)).body.items).toMatchObject([hidden])
    expect((await call('GET /api/v1/schedules')).body.items).toMatchObject([
      { args: null, lastError: '[redacted]' },
    ])
    const { text } = await call(`GET /api/v1/schedules/s/explain?at=${job.submittedAt.toISOString()}`)
    expect(text).toContain('attempt: [redacted]')
    expect(text).not.toMatch(LEAK)
  })

  it('an owner sees no stack, no path and no worker; callers without a scope see them [V6]', async () => {
    const { call, kalends } = await apiScene(under, {}, { worker: 'the-worker' })
    kalends.handle(task('work', { retries: 0 }), ({ log }) => {
      log.warn('cannot open /srv/app/secrets/key.pem\nsee the manual')
      throw new Error("no such file '/srv/app/secrets/key.pem', see https://example.com/a/b", {
        cause: new Error('the worker the-worker was lost'),
      })
    })
    await kalends.start()
    await call('PUT /api/v1/schedules/s', { as: 'ann', body: { task: 'work', timer: 'yearly' } })
    const { jobId: job } = (await call('POST /api/v1/schedules/s/run', { as: 'ann' })).body
    await ended(kalends, job)
    const shown = 'Error: no such file [path] see https://example.com/a/b'
    expect((await call(`GET /api/v1/jobs/${job}`, { as: 'ann' })).body.error).toBe(shown)
    expect((await call('GET /api/v1/schedules/s', { as: 'ann' })).body.lastError).toBe(shown)
    expect((await call('GET /api/v1/failures', { as: 'ann' })).body.items).toMatchObject([{ error: shown }])
    expect((await call(`GET /api/v1/jobs/${job}/logs`, { as: 'ann' })).body.items).toMatchObject([
      { message: 'cannot open [path]\nsee the manual' },
    ])
    expect((await call(`GET /api/v1/jobs/${job}/attempts`, { as: 'ann' })).body.items).toMatchObject([
      { outcome: 'failed', worker: null, error: shown },
    ])
    expect((await call(`GET /api/v1/jobs/${job}/attempts`)).body.items).toMatchObject([
      {
        outcome: 'failed',
        worker: expect.stringMatching(/^the-worker\//),
        error: expect.stringContaining(' at '),
      },
    ])
    for (const path of ['jobs', 'schedules', 'schedules/s/history', 'schedules/s/explain'])
      expect((await call(`GET /api/v1/${path}`, { as: 'ann' })).text).not.toMatch(
        /srv|\.ts|the-worker|   at /,
      )
    const whole = (await call(`GET /api/v1/jobs/${job}`)).body.error
    expect(whole).toMatch(/^ +at /m)
    expect(whole).toContain('/srv/app/secrets/key.pem')
  })

  it.each([
    ['that is cut off in the middle of a secret', `${'x'.repeat(484)} login hunter2 "quoted" p@ss`],
    ['with a secret of two lines', 'login hunter2\np@ss'],
  ])('a failure %s reveals no part of the secret', async (_what, error) => {
    const { call, kalends, database } = await apiScene(under, {}, { redact: ['args.password'] })
    const password = error.slice(error.indexOf('hunter2'))
    const id = await kalends.jobs.submit('login', { password })
    await database.query(`UPDATE job SET state = 'failed', finished = submitted, error = ?`, [error])
    expect((await call('GET /api/v1/failures')).body.items).toEqual([
      expect.objectContaining({ lastJobId: id, error: expect.stringMatching(/login \[redacted\]?$/) }),
    ])
    expect((await call('GET /api/v1/failures')).text).not.toMatch(/hunt|p@ss/)
    await database.query('UPDATE job SET error = NULL')
    expect((await call('GET /api/v1/failures')).body.items).toMatchObject([{ error: '' }])
  })

  it('a repeated submission does not reveal whether a guessed secret is right', async () => {
    const { call } = await apiScene(under, {}, { redact: ['args.pin'] })
    const submit = (args: object) => call('POST /api/v1/jobs', { body: { task: 'work', id: 'j', args } })
    const args = { pin: '4711', note: 'for 4711', to: 'x' }
    expect((await submit(args)).status).toBe(201)
    for (const pin of ['4711', '4712'])
      expect((await submit({ pin, note: `for ${pin}`, to: 'x' })).status).toBe(200)
    for (const [pin, note] of [
      ['4711', 'for 4712'],
      ['4712', 'for 4711'],
    ])
      expect((await submit({ pin, note, to: 'x' })).status).toBe(409)
    expect((await submit({ ...args, to: 'y' })).status).toBe(409)
  })

  it('an owner cannot search hidden values; callers without a scope can', async () => {
    const { call, kalends, database } = await apiScene(under)
    const id = await kalends.jobs.submit('work', {}, { submitter: 'ann' })
    await database.query(
      `UPDATE job SET state = 'failed', worker = 'host/1', finished = submitted, error = ?`,
      ['Error: refused\n    at /srv/app/secret.js'],
    )
    for (const [field, value] of Object.entries({ error: 'secret.js', worker: 'host/1' })) {
      for (const path of ['jobs', 'counts/jobs', 'failures']) {
        const line = `GET /api/v1/${path}?${field}=${value}`
        const refused = { status: 422, errors: [{ field, detail: expect.stringContaining('scope') }] }
        expect([line, (await call(line, { as: 'ann' })).body]).toMatchObject([line, refused])
        expect([line, (await call(line)).status]).toEqual([line, 200])
      }
      for (const action of ['retry', 'cancel']) {
        const state = action === 'retry' ? 'failed' : 'running'
        const body = { filter: { state, [field]: value }, dryRun: true }
        expect((await call(`POST /api/v1/jobs/${action}`, { as: 'ann', body })).body).toMatchObject({
          status: 422,
          errors: [{ field: `filter.${field}` }],
        })
        expect((await call(`POST /api/v1/jobs/${action}`, { body })).status).toBe(200)
      }
    }
    expect((await call('GET /api/v1/me', { as: 'ann' })).body.unsearchable).toEqual(['error', 'worker'])
    expect((await call('GET /api/v1/me')).body.unsearchable).toEqual([])
    expect((await call('GET /api/v1/jobs?error=secret.js')).body.items).toMatchObject([{ id }])
    expect((await call('GET /api/v1/failures', { as: 'ann' })).body.items).toMatchObject([{ lastJobId: id }])
  })

  it('the worker of a running job, of a marked schedule and of a lost attempt is hidden from an owner', async () => {
    const { call, kalends, database } = await apiScene(under)
    await kalends.schedules.create({ id: 's', task: 'work', timer: 'yearly', submitter: 'ann' })
    const job = await kalends.schedules.runNow('s')
    await database.query(
      `UPDATE job SET state = 'running', worker = 'host/1', attempt = 1, started = submitted, error = ?`,
      ['The worker host/1 was lost during attempt 1'],
    )
    await database.query(`UPDATE periodic_task SET worker = 'host/1', marked = created, nextrun = created`)
    await database.query(
      `INSERT INTO attempt (job_id, claim, attempt, worker, started, ended, outcome, error)
       SELECT id, 1, 1, worker, submitted, submitted, 'lost', error FROM job`,
    )
    for (const path of placesOf(job).filter((place) => !/failures|logs|history/.test(place))) {
      expect([path, (await call(`GET /api/v1/${path}`)).text]).toEqual([
        path,
        expect.stringContaining('host/1'),
      ])
      expect([path, (await call(`GET /api/v1/${path}`, { as: 'ann' })).text]).toEqual([
        path,
        expect.not.stringContaining('host/1'),
      ])
    }
    expect((await call(`GET /api/v1/jobs/${job}`, { as: 'ann' })).body).toMatchObject({
      worker: null,
      error: 'The worker was lost during attempt 1',
    })
  })

  it('a logged database error contains no statement and therefore no args [V6]', async () => {
    const { kalends, database, lines, call } = await apiScene(under)
    await database.query('DROP TABLE job_log')
    await database.query('DROP TABLE job')
    // Plain ASCII is not sent in hexadecimal, so the statement contains the password.
    const plain = { password: 'hunter2' }
    await expect(kalends.jobs.submit('login', plain)).rejects.toSatisfy(
      (error) => !LEAK.test(inspect(error, { depth: 10, showHidden: true })),
    )
    expect((await call('POST /api/v1/jobs', { body: { task: 'login', args: plain } })).status).toBe(500)
    expect(lines.at(-1)?.message).toBe('A request failed')
    expect(inspect(lines, { depth: 10, showHidden: true })).not.toMatch(LEAK)
  })

  describe('args that a database cannot store unchanged', () => {
    const nested = (levels: number): unknown => (levels === 0 ? 'x' : { a: nested(levels - 1) })
    const arrays = (levels: number): unknown => (levels === 0 ? 1 : [arrays(levels - 1)])

    it('args with 31 levels are stored, and deeper args are rejected, in the library and the API', async () => {
      const { call, kalends } = await apiScene(under)
      for (const make of [nested, arrays]) {
        const most = make(31)
        const id = await kalends.jobs.submit('t', most)
        expect((await kalends.jobs.get(id))?.args).toEqual(most)
        const made = await call('POST /api/v1/schedules', { body: { task: 't', timer: 'daily', args: most } })
        expect([made.status, made.body.args]).toEqual([201, most])
        for (const levels of [32, 40, 60, 100, 1200]) {
          const refused = { code: 'KALENDS_INVALID_INPUT', field: 'args' }
          const deep = make(levels)
          await expect(kalends.jobs.submit('t', deep)).rejects.toMatchObject(refused)
          await expect(
            kalends.schedules.create({ task: 't', timer: 'daily', args: deep }),
          ).rejects.toMatchObject(refused)
          for (const [line, body] of [
            ['POST /api/v1/schedules', { task: 't', timer: 'daily', args: deep }],
            ['PUT /api/v1/schedules/x', { task: 't', timer: 'daily', args: deep }],
            [`PATCH ${made.headers.get('location')}`, { args: deep }],
            [`POST ${made.headers.get('location')}/run`, { args: deep }],
            ['POST /api/v1/jobs', { task: 't', args: deep }],
          ] as const)
            expect([line, levels, (await call(line, { body })).status]).toEqual([line, levels, 422])
        }
      }
    })

    it.each([
      ['a string', String.raw`{"a":"\ud800"}`],
      ['the second half', String.raw`{"a":"x\udfffx"}`],
      ['a key', String.raw`{"\udbff":1}`],
      ['halves in the wrong order', String.raw`{"a":["\udc00\ud800"]}`],
    ])('args with a lone surrogate are rejected: %s', async (_where, json) => {
      const { call, kalends, database } = await apiScene(under)
      const body = `{"task":"t","timer":"daily","args":${json}}`
      expect((await call('POST /api/v1/schedules', { body })).body).toMatchObject({
        status: 422,
        field: 'args',
      })
      const jobBody = `{"task":"t","args":${json}}`
      expect((await call('POST /api/v1/jobs', { body: jobBody })).body).toMatchObject({
        status: 422,
        field: 'args',
      })
      await expect(kalends.jobs.submit('t', JSON.parse(json))).rejects.toMatchObject({ field: 'args' })
      expect(await database.query('SELECT id FROM job')).toEqual([])
    })

    it('args are stored if they contain complete surrogate pairs or strings that look like escapes', async () => {
      const { kalends } = await apiScene(under)
      const fine = { '😀': String.raw`😀 \ud800 "\\udfff" ` }
      const id = await kalends.jobs.submit('t', fine)
      expect((await kalends.jobs.get(id))?.args).toEqual(fine)
    })
  })

  it('other strings with a lone surrogate are also rejected, in the library and the API', async () => {
    const { call, kalends } = await apiScene(under)
    const half = 'x\ud800'
    const schedule = { task: 't', timer: 'daily' }
    for (const field of ['id', 'task', 'group', 'subject', 'submitter', 'summary'] as const) {
      await expect(kalends.schedules.create({ ...schedule, [field]: half })).rejects.toMatchObject({ field })
      const body = JSON.stringify({ ...schedule, [field]: half })
      expect((await call('POST /api/v1/schedules', { body })).body).toMatchObject({ status: 422, field })
      if (field === 'summary' || field === 'task') continue
      await expect(kalends.jobs.submit('t', {}, { [field]: half })).rejects.toMatchObject({ field })
      expect(
        (await call('POST /api/v1/jobs', { body: JSON.stringify({ task: 't', [field]: half }) })).body,
      ).toMatchObject({ status: 422, field })
    }
    await expect(kalends.jobs.submit(half)).rejects.toMatchObject({ field: 'task' })
    expect(() => task(half)).toThrow('lone surrogates')
    expect(() => kalends.scope({ submitter: half })).toThrow('submitter: ')
  })

  it('a handler that writes a lone surrogate does not fail, and U+FFFD is stored instead', async () => {
    const { kalends } = await apiScene(under)
    kalends.handle(task('writes'), ({ log, progress }) => {
      log.info('log \ud800')
      progress({ 'key \ud800': 'progress \udfff' })
      return { result: '\ud800 \udfff😀' }
    })
    kalends.handle(task('throws', { retries: 0 }), () => {
      throw new Error('error \ud800')
    })
    await kalends.start()
    const job = await ended(kalends, await kalends.jobs.submit('writes'))
    expect([job.state, job.progress, job.result]).toEqual([
      'success',
      { 'key \ufffd': 'progress \ufffd' },
      { result: '\ufffd \ufffd😀' },
    ])
    expect((await kalends.jobs.logs(job.id)).map(({ message }) => message)).toEqual(['log \ufffd'])
    expect((await ended(kalends, await kalends.jobs.submit('throws'))).error).toContain('error \ufffd')
  })
})

describe.skipIf(!databases.some(({ kind }) => kind === 'sqlite'))('the audit log', () => {
  it('contains no secrets from the args, even in other fields', async () => {
    const sqlite = databases.find(({ kind }) => kind === 'sqlite')
    if (sqlite === undefined) return
    const { call, lines } = await apiScene(sqlite, {}, { redact })
    await call('PUT /api/v1/schedules/s', {
      body: { task: 'login', timer: 'daily', args, summary: `logs in with ${SECRET}` },
    })
    await call('POST /api/v1/jobs', { body: { task: 'login', args } })
    await call('DELETE /api/v1/schedules/s')
    expect(lines.filter(({ fields }) => 'audit' in fields)).toHaveLength(3)
    expect(inspect(lines, { depth: 10 })).not.toMatch(LEAK)
  })
})
