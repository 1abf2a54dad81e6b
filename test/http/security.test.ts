/** Each security rule has a test that tries to break it. */
import { describe, expect, it } from 'vitest'
import { commandLog } from '../../src/cli/log.ts'
import { bearer, http } from '../../src/http/index.ts'
import { operations } from '../../src/http/operations.ts'
import { Kalends } from '../../src/index.ts'
import { eachDatabase, databases } from '../support/databases.ts'
import { apiScene, replyOf, request, USERS } from './scene.ts'

const sqlite = databases.find(({ kind }) => kind === 'sqlite')
const mail = { task: 'mail', timer: 'daily' }

/** The request line of an operation, with the given id. */
const lineOf = ({ method, path }: (typeof operations)[number], id = 'x') =>
  `${method} ${path.replace('{id}', id)}`

describe.skipIf(sqlite === undefined)('access', () => {
  const open = () => {
    if (sqlite === undefined) throw new Error('skipped')
    return apiScene(sqlite)
  }

  it('without authorize, every operation except health is rejected', async () => {
    await using kalends = await Kalends.open('sqlite::memory:')
    const handler = http(kalends)
    for (const one of operations) {
      const reply = await replyOf(await handler(request(lineOf(one).replace(' /', ' http://localhost/'))))
      if (one.path.startsWith('/health')) expect(reply.body).toEqual({ ok: true, live: true })
      else expect([one.id, reply.status, reply.body.code]).toEqual([one.id, 403, 'CLOSED'])
    }
  })

  it('an unknown caller gets 401, and only `ok` and `live` from health', async () => {
    const { call, kalends } = await open()
    await kalends.start()
    for (const one of operations) {
      const reply = await call(lineOf(one), { as: 'nobody' })
      if (one.path.startsWith('/health')) expect(reply.body).toEqual({ ok: true, live: true })
      else {
        expect([one.id, reply.status]).toEqual([one.id, 401])
        expect(reply.headers.get('www-authenticate')).toContain('Bearer')
      }
    }
    expect((await call('GET /health')).body).toMatchObject({ ok: true, worker: expect.any(String) })
    for (const path of ['/health', '/health/live'])
      expect((await call(`GET ${path}`, { as: 'ann' })).body).toEqual({ ok: true, live: true })
  })

  it('every operation rejects callers whose role is too low', async () => {
    const { call } = await open()
    const rank = { read: 1, operate: 2, admin: 3, submit: 4 }
    for (const [as, role] of [
      ['reader', 'read'],
      ['operator', 'operate'],
    ] as const) {
      for (const one of operations) {
        const { permission } = one
        if (permission === null || rank[permission] <= rank[role]) continue
        const code = permission === 'submit' ? 'MAY_NOT_SUBMIT' : 'ROLE_TOO_LOW'
        expect([one.id, await call(lineOf(one), { as })]).toMatchObject([
          one.id,
          { status: 403, body: { code } },
        ])
      }
    }
    // No operation that writes requires only permission to read.
    expect(operations.filter(({ method, permission }) => method !== 'GET' && permission === 'read')).toEqual(
      [],
    )
  })

  it('a caller with a scope cannot use operations that cover all rows', async () => {
    const { call } = await open()
    for (const path of ['/api/v1/workers', '/api/v1/doctor', '/metrics'])
      expect((await call(`GET ${path}`, { as: 'ann' })).body.code).toBe('SCOPED')
  })

  it('if authorize throws or returns an invalid value, the request is rejected without details', async () => {
    await using kalends = await Kalends.open('sqlite::memory:')
    for (const authorize of [
      () => {
        throw new Error('secret of the session store')
      },
      () => Promise.reject(new Error('secret of the session store')),
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- untyped code may return this
      () => ({ role: 'root' }) as never,
    ]) {
      const reply = await replyOf(await http(kalends, { authorize })(request('GET /api/v1/schedules')))
      expect(reply.status).toBe(500)
      expect(reply.text).not.toContain('secret')
    }
  })

  it.each([
    null,
    {},
    [],
    'ann',
    { user: 'ann' },
    { submitter: 'ann', grup: 'a' },
    { submitter: null },
    { submitter: '' },
    { group: 5 },
    { submitter: undefined },
  ])(
    'if authorize returns the scope %j, the request is rejected, and the reason is logged',
    async (scope) => {
      if (sqlite === undefined) return
      const { call, kalends, lines } = await apiScene(sqlite, {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- untyped code may return this
        authorize: () => ({ role: 'admin', scope }) as never,
      })
      await kalends.schedules.create({ id: 'theirs', ...mail, submitter: 'bob' })
      for (const line of ['GET /api/v1/schedules', 'GET /api/v1/workers', 'DELETE /api/v1/schedules/theirs'])
        expect((await call(line)).body).toMatchObject({ status: 500, code: 'INTERNAL' })
      expect((await call('GET /health')).body).toEqual({ ok: true, live: true })
      const [line] = lines.filter(({ level }) => level === 'error')
      expect(line?.fields).toMatchObject({
        err: { message: expect.stringContaining('authorize returned the scope') },
      })
      expect(await kalends.schedules.get('theirs')).not.toBeNull()
    },
  )

  it('only the exact token is accepted', async () => {
    await using kalends = await Kalends.open('sqlite::memory:')
    const token = 'correct-horse-battery'
    const handler = http(kalends, { authorize: bearer({ [token]: { role: 'read' } }) })
    const status = async (authorization: string) =>
      (await handler(request('GET /api/v1/me', { headers: { authorization } }))).status
    expect(await status(`Bearer ${token}`)).toBe(200)
    expect(await status(`bearer  ${token} `)).toBe(200)
    for (const wrong of [
      token,
      `Basic ${token}`,
      `Bearer ${token}x`,
      `Bearer ${token.slice(1)}`,
      'Bearer',
      'Bearer toString',
      `Bearer ${token},${token}`,
    ])
      expect([wrong, await status(wrong)]).toEqual([wrong, 401])
    expect(() => bearer({ short: { role: 'read' } })).toThrow('16 characters')
  })

  it('open mode responds only to the host names of this machine, as protection against DNS rebinding', async () => {
    await using kalends = await Kalends.open('sqlite::memory:')
    const handler = http(kalends, { open: 'admin' })
    const status = async (host: string, path = '/api/v1/schedules') =>
      (await handler(request(`GET ${path}`, { headers: { host } }))).status
    for (const host of ['localhost', 'LOCALHOST:4040', '127.0.0.1:4040', '[::1]:4040', 'localhost.'])
      expect([host, await status(host)]).toEqual([host, 200])
    for (const host of [
      'evil.example',
      'localhost.evil.example',
      '127.0.0.1.evil.example:4040',
      'evil.example#localhost',
      '',
      '127.0.0.2',
    ])
      expect([host, await status(host)]).toEqual([host, 421])
    // The response does not even reveal which paths exist.
    expect(await status('evil.example', '/api/v1/unknown')).toBe(421)
    const named = http(kalends, { open: 'read', hosts: ['box.example'] })
    expect((await named(request('GET /api/v1/me', { headers: { host: 'box.example:1' } }))).status).toBe(200)
  })

  it('a write that a browser sends from another site is rejected', async () => {
    const { call } = await open()
    const write = (headers: Record<string, string>, host = 'app.example') =>
      call('PUT /api/v1/schedules/s', { body: mail, headers: { host, ...headers } })
    for (const headers of [
      { origin: 'http://evil.example' },
      { origin: 'null' },
      { origin: 'http://app.example.evil.example' },
      { origin: 'http://app.example:81' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'http://app.example', 'sec-fetch-site': 'cross-site' },
    ] as Record<string, string>[])
      expect([headers, (await write(headers)).body.code]).toEqual([headers, 'FOREIGN_ORIGIN'])
    expect((await call('GET /api/v1/schedules/s')).status).toBe(404)
    // Behind a TLS-terminating proxy, the scheme differs, so only the host counts.
    for (const headers of [
      {},
      { origin: 'http://app.example' },
      { origin: 'https://app.example', 'sec-fetch-site': 'same-origin' },
    ] as Record<string, string>[])
      expect((await write(headers)).status).toBeLessThan(300)
    // Another site cannot read responses, because no response allows it.
    const read = await call('GET /api/v1/schedules', { headers: { origin: 'http://evil.example' } })
    expect(read.headers.get('access-control-allow-origin')).toBeNull()
  })

  it('other origins can write if they are listed', async () => {
    if (sqlite === undefined) return
    const { call } = await apiScene(sqlite, { origins: ['https://admin.example'] })
    const headers = { origin: 'https://admin.example', 'sec-fetch-site': 'cross-site' }
    expect((await call('PUT /api/v1/schedules/s', { body: mail, headers })).status).toBe(201)
    await using kalends = await Kalends.open('sqlite::memory:')
    expect(() => http(kalends, { origins: ['https://admin.example/path'] })).toThrow('origins')
  })

  it('every response has headers that prevent browsers from executing, embedding or caching it', async () => {
    const { call } = await open()
    for (const line of [
      'GET /api/v1/schedules',
      'GET /nowhere',
      'GET /health',
      'POST /api/v1/schedules',
      'PUT /api/v1/me',
    ]) {
      const { headers } = await call(line)
      expect(headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('x-frame-options')).toBe('DENY')
    }
  })

  describe('bodies', () => {
    const send = async (body: string, headers: Record<string, string> = {}) =>
      (await open()).call('POST /api/v1/schedules', { body, headers })

    it.each([
      ['too large', JSON.stringify({ ...mail, args: { x: 'x'.repeat(1_000_000) } }), 413],
      ['too deep', `{"task":"t","timer":"daily","args":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 422],
      ['nested deeply, and not closed', '['.repeat(900_000), 422],
      ['with too many values', `{"task":"t","timer":"daily","args":{"a":[${'1,'.repeat(60_000)}1]}}`, 422],
      [
        'with too many empty lists',
        `{"task":"t","timer":"daily","args":{"a":[${'[],'.repeat(30_000)}1]}}`,
        422,
      ],
      ['cut off', '{"task":', 400],
      ['no JSON', 'task=mail', 400],
      ['a list', '[]', 422],
      ['null', 'null', 422],
      ['empty', '', 400],
      [
        'with a number that a double would round',
        '{"task":"t","timer":"daily","args":{"n":9007199254740993}}',
        422,
      ],
      ['with an invalid number', '{"task":"t","timer":"daily","args":{"n":1e999}}', 422],
      ['with an unknown field', '{"task":"t","timer":"daily","cron":"* * * * *"}', 422],
      ['with a prototype', '{"task":"t","timer":"daily","__proto__":{"enabled":false}}', 422],
      ['with read-only fields', '{"task":"t","timer":"daily","runCount":5}', 422],
      [
        'with a time that is not in UTC',
        '{"task":"t","timer":"daily","starts":"2026-03-27T09:00:00+01:00"}',
        422,
      ],
    ])('%s: rejected', async (_what, body, status) => {
      const reply = await send(body)
      expect(reply.status).toBe(status)
      expect(reply.headers.get('content-type')).toBe('application/problem+json')
      expect(reply.body).toMatchObject({ status, title: expect.any(String), detail: expect.any(String) })
      expect(reply.text.length).toBeLessThan(2000)
    })

    it('digits, brackets and commas in the strings of a body do not count', async () => {
      const text = `9007199254740993 \\" [[[${','.repeat(60_000)}`
      const body = `{"task":"t","timer":"daily","args":{"n":"${text}","f":1.5e3}}`
      expect((await send(body)).status).toBe(201)
    })

    it('bodies without the JSON content type are rejected, because forms on other sites cannot send JSON', async () => {
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        'text/plain; application/json',
      ])
        expect((await send('{}', { 'content-type': type })).status).toBe(415)
      expect(
        (await send(JSON.stringify(mail), { 'content-type': 'application/json; charset=utf-8' })).status,
      ).toBe(201)
    })
  })

  it('an input that is too long is rejected before anything else reads it [L47]', async () => {
    let asked = 0
    if (sqlite === undefined) return
    const { call } = await apiScene(sqlite, {
      authorize: () => {
        asked += 1
        return { role: 'admin' }
      },
    })
    const long = 'x'.repeat(8193)
    for (const [line, status, headers] of [
      [`GET /${long}`, 414, {}],
      [`GET /api/v1/schedules/${long}`, 414, { accept: 'text/html' }],
      [`GET /api/v1/me?${long}${long}`, 414, {}],
      ['GET /api/v1/me', 431, { authorization: long }],
      ['GET /api/v1/me', 431, { host: long }],
      ['GET /', 431, { accept: `text/html,${long}` }],
      ['GET /api/v1/events', 431, { 'last-event-id': long }],
      ['POST /api/v1/jobs', 431, { origin: long }],
    ] as const) {
      const reply = await call(line, { headers })
      expect([line.slice(0, 30), reply.status]).toEqual([line.slice(0, 30), status])
      expect(reply.headers.get('content-type')).toBe('application/problem+json')
      expect(reply.text.length).toBeLessThan(500)
    }
    expect(asked).toBe(0)
    // Cookies belong to the application, so their length is not limited.
    expect((await call('GET /api/v1/me', { headers: { cookie: long } })).status).toBe(200)
  })

  it('a query can have at most a hundred parameters', async () => {
    const { call } = await open()
    const query = Array.from({ length: 101 }, (_, index) => `p${index}`).join('&')
    const reply = await call(`GET /api/v1/me?${query}`)
    expect([reply.status, reply.body.detail]).toEqual([422, expect.stringContaining('100 parameters')])
  })

  it('an error names the field, the position and a correction', async () => {
    const { call } = await open()
    const timer = await call('POST /api/v1/schedules', { body: { task: 't', timer: 'cron 0 0 L * *' } })
    expect(timer).toMatchObject({
      status: 422,
      body: {
        code: 'CRON_SYNTAX',
        field: 'timer',
        column: expect.any(Number),
        token: 'L',
        hint: 'write *-*~1 0:00',
      },
    })
    const many = await call('POST /api/v1/schedules', { body: { task: '', timer: 5, maxRuns: 0, a: 1 } })
    expect(many.body.errors.map(({ field }: { field: string }) => field).toSorted()).toEqual([
      'a',
      'maxRuns',
      'task',
      'timer',
    ])
    expect((await call('GET /api/v1/schedules?limit=0')).body).toMatchObject({ status: 422, field: 'limit' })
    expect((await call('GET /api/v1/schedules?limit=1&limit=2')).body).toMatchObject({
      status: 422,
      field: 'limit',
    })
    expect((await call('GET /api/v1/jobs?nonsense=1')).body).toMatchObject({ status: 422, field: 'nonsense' })
    expect((await call('PATCH /api/v1/nowhere')).body.code).toBe('UNKNOWN_PATH')
    const wrong = await call('POST /api/v1/schedules/x')
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, PUT, PATCH, DELETE'])
  })

  it('the response to a body with many errors is short: the first 20 errors, and the number of the others', async () => {
    const { call } = await open()
    const unknown = Object.fromEntries(Array.from({ length: 19_000 }, (_, index) => [`unknown-${index}`, 1]))
    const { status, body, text } = await call('POST /api/v1/schedules', {
      body: { task: 'mail', timer: 'daily', ...unknown },
    })
    expect(status).toBe(422)
    expect(body.errors).toHaveLength(20)
    expect(body).toMatchObject({
      field: 'unknown-0',
      detail: expect.stringMatching(/^unknown-0: unknown field; .*; and 18980 more errors$/),
    })
    expect(text.length).toBeLessThan(5000)
    // The response is also short if a single name or value is long.
    const long = 'x'.repeat(100_000)
    for (const problem of [
      { [long]: 1 },
      { timer: long },
      { task: long },
      { group: long },
      { timeout: long },
    ]) {
      const reply = await call('POST /api/v1/schedules', {
        body: { task: 'mail', timer: 'daily', ...problem },
      })
      expect([Object.keys(problem)[0]?.slice(0, 9), reply.status]).toEqual([expect.any(String), 422])
      expect(reply.text.length, Object.keys(problem)[0]?.slice(0, 9)).toBeLessThan(5000)
    }
  })

  it('names cannot inject headers', async () => {
    const { call } = await open()
    const refused = await call('POST /api/v1/schedules', {
      body: { ...mail, id: 'a\r\nset-cookie: stolen=1\r\n\r\n' },
    })
    expect([refused.status, refused.headers.get('set-cookie')]).toEqual([422, null])
    const id = 'a%0d%0aset-cookie: stolen=1;é<script>'
    const made = await call('POST /api/v1/schedules', { body: { ...mail, id } })
    expect([made.status, made.headers.get('set-cookie')]).toEqual([201, null])
    expect(made.headers.get('location')).toBe(`/api/v1/schedules/${encodeURIComponent(id)}`)
    expect((await call(`GET ${made.headers.get('location')}`)).body.id).toBe(id)
  })

  it('names cannot inject log lines: each write is one line, in JSON and as text', async () => {
    if (sqlite === undefined) return
    const out: string[] = []
    const logger = commandLog({ json: false, level: 'debug' }, (text) => void out.push(text))
    const { call } = await apiScene(sqlite, {
      logger,
      authorize: () => ({ role: 'admin', user: 'eve\n2026-01-01 INFO forged \u001b[2J\u009b2J' }),
    })
    await call('PUT /api/v1/schedules/x%202026-01-01T00%3A00%3A00Z%20ERROR%20forged', {
      body: { ...mail, summary: 'a\nb' },
    })
    expect(out).toHaveLength(1)
    // oxlint-disable-next-line no-control-regex
    expect(out[0]).toMatch(/^[^\u0000-\u001f\u007f-\u009f]+\n$/)
  })

  it('each write is logged with its user, its operation, and the values before and after, without secrets', async () => {
    if (sqlite === undefined) return
    const { call, lines } = await apiScene(
      sqlite,
      {},
      { redact: ['args.password', 'args.users.*.key', 'result.token'] },
    )
    const args = { to: 'x', password: 'hunter2', users: [{ key: 'k1' }, { key: 'k2', name: 'n' }] }
    await call('PUT /api/v1/schedules/s', { body: { ...mail, args } })
    await call('PATCH /api/v1/schedules/s', { body: { timer: 'hourly' } })
    await call('POST /api/v1/schedules/s/pause', { as: 'operator' })
    await call('DELETE /api/v1/schedules/s')
    const events = lines.flatMap(({ fields }) => ('audit' in fields ? [fields.audit] : []))
    expect(events).toMatchObject([
      {
        user: 'ada',
        role: 'admin',
        action: 'putSchedule',
        scheduleId: 's',
        before: null,
        after: { timer: 'daily', args: { to: 'x', password: '[redacted]' } },
      },
      { action: 'changeSchedule', before: { timer: 'daily' }, after: { timer: 'hourly' } },
      {
        user: 'olaf',
        role: 'operate',
        action: 'pauseSchedule',
        before: { enabled: true, status: 'active' },
        after: { enabled: false },
      },
      { action: 'deleteSchedule', before: { id: 's' }, after: null },
    ])
    expect(JSON.stringify(lines)).not.toMatch(/hunter2|k1|k2/)
  })

  it('a write to several jobs is logged once per job, under the operation that was called', async () => {
    if (sqlite === undefined) return
    const { call, lines } = await apiScene(sqlite)
    const jobs = [
      await call('POST /api/v1/jobs', { body: { task: 'mail', id: 'a' } }),
      await call('POST /api/v1/jobs', { body: { task: 'mail', id: 'b' } }),
    ].map(({ body }) => String(body.id))
    await call('POST /api/v1/jobs/cancel', { body: { ids: jobs } })
    const events = lines.flatMap(({ fields }) => ('audit' in fields ? [fields.audit] : []))
    expect(events).toMatchObject([
      { action: 'submitJob', jobId: 'a', before: null },
      { action: 'submitJob', jobId: 'b', before: null },
      { action: 'cancelJobs', jobId: 'a', before: { state: 'waiting' }, after: { state: 'cancelled' } },
      { action: 'cancelJobs', jobId: 'b', before: { state: 'waiting' }, after: { state: 'cancelled' } },
    ])
  })

  it('hidden values cannot be guessed by searching', async () => {
    if (sqlite === undefined) return
    const { call } = await apiScene(sqlite, {}, { redact: ['args.password'] })
    for (const path of ['jobs?args=hunter2', 'counts/jobs?args=h', 'failures?args=h'])
      expect((await call(`GET /api/v1/${path}`)).body).toMatchObject({ status: 422, field: 'args' })
    expect((await call('GET /api/v1/me')).body.unsearchable).toEqual(['args'])
    expect(
      (await call('POST /api/v1/jobs/cancel', { body: { filter: { args: 'h' }, dryRun: true } })).status,
    ).toBe(422)
  })

  it('a logger that throws does not make writes fail', async () => {
    if (sqlite === undefined) return
    const fail = () => {
      throw new Error('the disk of the log is full')
    }
    const { call } = await apiScene(sqlite, { logger: { debug: fail, info: fail, warn: fail, error: fail } })
    expect((await call('PUT /api/v1/schedules/s', { body: mail })).status).toBe(201)
  })
})

eachDatabase((under) => {
  it('a scope reaches only its own rows, whatever the id, and writes no rows of other owners', async () => {
    const { call, kalends, database } = await apiScene(under)
    await kalends.schedules.create({
      id: 'theirs',
      ...mail,
      submitter: 'bob',
      group: 'b',
      args: { secret: 'of bob' },
    })
    await kalends.schedules.create({ id: 'nobodys', ...mail, args: { secret: 'of nobody' } })
    const job = await kalends.schedules.runNow('theirs')
    const other = await kalends.jobs.submit('mail', { secret: 'of nobody' })
    const rows = async () =>
      JSON.stringify([
        await database.query('SELECT * FROM periodic_task ORDER BY id'),
        await database.query('SELECT * FROM job ORDER BY id'),
      ])
    const before = await rows()
    for (const one of operations.filter(({ path }) => path.includes('{id}'))) {
      for (const id of one.path.includes('/jobs/') ? [job, other] : ['theirs', 'nobodys']) {
        const body = one.method === 'PUT' ? mail : one.body === null ? undefined : {}
        const reply = await call(lineOf(one, id), { as: 'ann', ...(body !== undefined && { body }) })
        // A PUT creates a schedule that belongs to the caller.
        const refused = one.unscoped === true ? 403 : 404
        expect([one.id, reply.status]).toEqual([one.id, one.method === 'PUT' ? 201 : refused])
        expect(reply.text).not.toContain('secret')
        if (one.method === 'PUT')
          expect((await call(`DELETE /api/v1/schedules/${id}`, { as: 'ann' })).status).toBe(204)
      }
    }
    await call('POST /api/v1/schedules/batch-delete', { as: 'ann', body: { ids: ['theirs', 'nobodys'] } })
    for (const action of ['cancel', 'retry']) {
      const reply = await call(`POST /api/v1/jobs/${action}`, { as: 'ann', body: { ids: [job, other] } })
      expect(reply.body).toMatchObject({ changed: [], refused: [{}, {}] })
      expect(
        (await call(`POST /api/v1/jobs/${action}`, { as: 'ann', body: { filter: {} } })).body.matched,
      ).toBe(0)
    }
    for (const foreign of [{ submitter: 'bob' }, { group: 'b' }, { submitter: null }])
      expect(
        (await call('POST /api/v1/schedules', { as: 'ann', body: { ...mail, ...foreign } })).body.code,
      ).toBe('OUT_OF_SCOPE')
    expect(await rows()).toBe(before)
    for (const path of [
      'schedules',
      'jobs',
      'jobs?submitter=bob',
      'schedules?group=b',
      'failures',
      'upcoming',
    ])
      expect([path, (await call(`GET /api/v1/${path}`, { as: 'ann' })).body.items]).toEqual([path, []])
    expect((await call('GET /api/v1/tasks', { as: 'ann' })).body.items).toEqual([
      { name: 'mail', workers: 0 },
      { name: 'work', workers: 0 },
    ])
    for (const path of ['counts/schedules', 'counts/jobs'])
      expect((await call(`GET /api/v1/${path}`, { as: 'ann' })).body.counts).toEqual({})
    const load = await call('GET /api/v1/load', { as: 'ann' })
    expect(load.body.schedules).toBe(0)
    const own = await call('POST /api/v1/schedules', { as: 'ann', body: { ...mail, id: 'mine' } })
    expect(own.body).toMatchObject({ submitter: 'ann' })
    expect((await call('GET /api/v1/schedules', { as: 'ann' })).body.total).toBe(1)
    expect((await call('GET /api/v1/schedules', { as: 'bob' })).body.items).toMatchObject([{ id: 'theirs' }])
    expect(Object.keys(USERS)).toContain('bob')
  })
})
