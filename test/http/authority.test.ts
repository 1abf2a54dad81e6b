/** Write access: tasks, permissions, the application's hook, limits, entity tags, and what a scope reveals. */
import { expect, it, vi } from 'vitest'
import { type Access, http, type WriteRequest } from '../../src/http/index.ts'
import { operations } from '../../src/http/operations.ts'
import { eachDatabase } from '../support/databases.ts'
import { apiScene, replyOf, request, USERS } from './scene.ts'

const mail = { task: 'mail', timer: 'daily' }
const HOSTILE = { ageMs: -1e6, perSchedule: "1 AND extractvalue(1, concat(0x7e, (SELECT 'leak')))" }

eachDatabase((under) => {
  it('a tenant cannot use built-in tasks or tasks outside its list by any route [V1, L46]', async () => {
    const { call, kalends, database, lines } = await apiScene(under)
    const id = await kalends.jobs.submit('kalends.prune', HOSTILE, { submitter: 'ann' })
    await kalends.schedules.create({ id: 'prune', task: 'kalends.prune', timer: 'daily', submitter: 'ann' })
    const rows = async () =>
      JSON.stringify([
        await database.query('SELECT * FROM periodic_task ORDER BY id'),
        await database.query('SELECT * FROM job ORDER BY id'),
      ])
    const before = await rows()
    for (const task of ['kalends.prune', 'kalends.prune ', 'command', 'command ', 'billing'])
      for (const line of ['POST /api/v1/schedules', 'PUT /api/v1/schedules/mine', 'POST /api/v1/jobs']) {
        const timer = line.endsWith('jobs') ? {} : { timer: 'daily' }
        const reply = await call(line, { as: 'ann', body: { task, args: HOSTILE, ...timer } })
        expect([line, task, reply.status, reply.body.code]).toEqual([line, task, 403, 'FORBIDDEN'])
        expect(reply.text).not.toMatch(/SELECT|extractvalue/)
      }
    // Writes to a single row are rejected even if code created the row for its owner.
    for (const one of operations.filter(({ method, path }) => method !== 'GET' && path.includes('{id}'))) {
      const ofJob = one.path.includes('/jobs/')
      const path = one.path.replace('{id}', ofJob ? id : 'prune')
      const body = one.id === 'putSchedule' ? mail : one.id === 'runSchedule' ? { args: HOSTILE } : {}
      const reply = await call(`${one.method} ${path}`, {
        as: 'ann',
        ...(one.body !== null && { body }),
      })
      expect([one.id, reply.status]).toEqual([one.id, 403])
    }
    for (const action of ['cancel', 'retry']) {
      const { body } = await call(`POST /api/v1/jobs/${action}`, { as: 'ann', body: { ids: [id] } })
      expect(body).toMatchObject({ changed: [], refused: [{ id }] })
    }
    await call('POST /api/v1/schedules/batch-delete', { as: 'ann', body: { ids: ['prune'] } })
    expect(await rows()).toBe(before)
    expect(JSON.stringify(lines)).not.toMatch(/extractvalue/)
  })

  it('callers without a scope can use built-in tasks only if the server allows it [V1]', async () => {
    const { call, kalends } = await apiScene(under)
    const body = { task: 'command', args: { shell: 'id' } }
    expect((await call('POST /api/v1/jobs', { body })).body.code).toBe('FORBIDDEN')
    expect((await call('PUT /api/v1/schedules/c', { body: { ...body, timer: 'daily' } })).status).toBe(403)
    const handler = http(kalends, { authorize: () => USERS['admin'] ?? null, builtInTasks: true })
    expect((await handler(request('POST /api/v1/jobs', { body }))).status).toBe(201)
  })

  it('a caller without a scope can also be restricted to certain tasks and by limits [V2]', async () => {
    const { kalends } = await apiScene(under)
    const access: Access = { role: 'admin', submit: true, tasks: ['mail'], limits: { schedules: 1 } }
    const handler = http(kalends, { authorize: () => access })
    const send = async (line: string, body: object) => replyOf(await handler(request(line, { body })))
    expect((await send('POST /api/v1/jobs', { task: 'other' })).body.code).toBe('FORBIDDEN')
    expect((await send('POST /api/v1/jobs', { task: 'mail' })).status).toBe(201)
    expect((await send('PUT /api/v1/schedules/a', mail)).status).toBe(201)
    expect(await send('PUT /api/v1/schedules/b', mail)).toMatchObject({
      status: 429,
      body: { code: 'LIMIT', detail: expect.stringContaining('limits.schedules') },
    })
    expect((await send('PUT /api/v1/schedules/a', { ...mail, priority: 1 })).body).toMatchObject({
      field: 'priority',
      detail: expect.stringContaining('limits.priority'),
    })
  })

  it('submitting jobs requires a separate permission [V1]', async () => {
    const { kalends, call } = await apiScene(under)
    await kalends.schedules.create({ id: 's', ...mail })
    const as = (access: Access) => http(kalends, { authorize: () => access })
    const status = async (access: Access, line: string, body?: object) =>
      (await as(access)(request(line, body === undefined ? {} : { body }))).status
    const withArgs = { args: { to: 'x' } }
    for (const role of ['read', 'operate', 'admin'] as const) {
      expect(await status({ role }, 'POST /api/v1/jobs', { task: 'mail' })).toBe(403)
      expect(await status({ role, submit: true }, 'POST /api/v1/jobs', { task: 'mail' })).toBe(201)
      expect(await status({ role }, 'POST /api/v1/schedules/s/run', withArgs)).toBe(403)
    }
    expect(await status({ role: 'operate', submit: true }, 'POST /api/v1/schedules/s/run', withArgs)).toBe(
      200,
    )
    expect((await call('GET /api/v1/me', { as: 'reader' })).body).toMatchObject({
      submit: false,
      tasks: null,
    })
    expect((await call('GET /api/v1/me', { as: 'ann' })).body).toMatchObject({ tasks: ['mail', 'work'] })
  })

  it('a scope with write access but without tasks is rejected as a mistake in the application [V1]', async () => {
    const { kalends } = await apiScene(under)
    for (const access of [{ role: 'operate' }, { role: 'admin' }, { role: 'read', submit: true }] as const) {
      const handler = http(kalends, { authorize: () => ({ ...access, scope: { submitter: 'ann' } }) })
      expect((await handler(request('GET /api/v1/me'))).status).toBe(500)
    }
    const reads = http(kalends, { authorize: () => ({ role: 'read', scope: { submitter: 'ann' } }) })
    expect((await reads(request('GET /api/v1/me'))).status).toBe(200)
  })

  it('before each write, the hook is called with the user, the operation and the target, and can reject the write [V1]', async () => {
    const asked: WriteRequest[] = []
    const answers: (boolean | string)[] = []
    const permit = (attempt: WriteRequest) => {
      asked.push(attempt)
      return answers.shift() ?? true
    }
    const { call, kalends } = await apiScene(under, { permit })
    const subject = async (line: string, options: Parameters<typeof call>[1] = {}) => {
      asked.length = 0
      const { status } = await call(line, options)
      return [
        status,
        ...asked.map(({ action, task, scheduleId: schedule, jobId: job }) => ({
          action,
          task,
          schedule,
          job,
        })),
      ]
    }
    const schedule = 's'
    const of = { task: 'mail', schedule }
    expect(await subject('PUT /api/v1/schedules/s', { body: mail })).toEqual([
      201,
      { ...of, action: 'putSchedule' },
    ])
    expect(asked[0]?.access).toEqual(USERS['admin'])
    expect(await subject('PUT /api/v1/schedules/s', { body: { ...mail, task: 'work' } })).toEqual([
      200,
      { ...of, action: 'putSchedule' },
      { task: 'work', schedule, action: 'putSchedule' },
    ])
    expect(await subject('PATCH /api/v1/schedules/s', { body: { task: 'mail' } })).toEqual([
      200,
      { task: 'work', schedule, action: 'changeSchedule' },
      { ...of, action: 'changeSchedule' },
    ])
    answers.push(true, 'not this task')
    const refused = await call('PATCH /api/v1/schedules/s', { body: { task: 'work' } })
    expect(refused).toMatchObject({ status: 403, body: { detail: 'not this task' } })
    expect((await call('PATCH /api/v1/schedules/s', { body: { task: 'work' } })).status).toBe(200)
    const work = { task: 'work', schedule }
    for (const [line, body, status] of [
      ['PATCH /api/v1/schedules/s', { summary: 'x' }, 200],
      ['POST /api/v1/schedules/s/pause', undefined, 200],
      ['POST /api/v1/schedules/s/resume', undefined, 200],
      ['POST /api/v1/schedules/s/run', undefined, 200],
    ] as const)
      expect(await subject(line, body && { body })).toEqual([status, { ...work, action: expect.any(String) }])
    const [job] = (await kalends.jobs.list()).items
    const ofJob = { ...work, job: job?.id }
    expect(await subject('POST /api/v1/jobs/cancel', { body: { ids: [job?.id] } })).toEqual([
      200,
      { ...ofJob, action: 'cancelJobs' },
    ])
    answers.push('not on Sundays')
    expect((await call(`POST /api/v1/jobs/${job?.id}/retry`)).body).toMatchObject({
      status: 403,
      code: 'NOT_PERMITTED',
      detail: 'not on Sundays',
    })
    answers.push(false)
    expect((await call('POST /api/v1/jobs', { body: { task: 'mail' } })).status).toBe(403)
    answers.push(false)
    expect((await call('POST /api/v1/schedules', { body: mail })).status).toBe(403)
    answers.push(false)
    expect((await call('POST /api/v1/schedules/batch-delete', { body: { ids: ['none', 's'] } })).status).toBe(
      403,
    )
    answers.push(false)
    expect((await call('DELETE /api/v1/schedules/s')).status).toBe(403)
    expect((await kalends.schedules.list()).total).toBe(1)
    expect((await kalends.jobs.list()).total).toBe(1)
    expect(await subject('DELETE /api/v1/schedules/s')).toEqual([204, { ...work, action: 'deleteSchedule' }])
    expect(await subject('GET /api/v1/schedules')).toEqual([200])
  })

  it('with If-Match, an edit of an outdated version is rejected [V7]', async () => {
    const { call, kalends } = await apiScene(under)
    const made = await call('POST /api/v1/schedules', { body: { ...mail, id: 's' } })
    const tag = made.headers.get('etag') ?? ''
    expect(tag).toMatch(/^"[\w-]{22}"$/)
    expect((await call('GET /api/v1/schedules/s')).headers.get('etag')).toBe(tag)
    const match = { headers: { 'if-match': tag } }
    const changed = await call('PATCH /api/v1/schedules/s', { ...match, body: { summary: 'x' } })
    expect(changed.status).toBe(200)
    const newer = changed.headers.get('etag') ?? ''
    expect(newer).not.toBe(tag)
    for (const [line, body] of [
      ['PATCH /api/v1/schedules/s', { summary: 'lost update' }],
      ['PUT /api/v1/schedules/s', mail],
      ['DELETE /api/v1/schedules/s', undefined],
      ['POST /api/v1/schedules/s/pause', undefined],
      ['PUT /api/v1/schedules/new', mail],
    ] as const)
      expect(await call(line, { ...match, ...(body && { body }) })).toMatchObject({
        status: 412,
        body: { code: 'VERSION' },
      })
    expect((await call('PUT /api/v1/schedules/s', { headers: { 'if-match': '*' }, body: mail })).status).toBe(
      422,
    )
    // A run is not an edit.
    await kalends.schedules.runNow('s')
    const paused = await call('POST /api/v1/schedules/s/pause', { headers: { 'if-match': newer } })
    expect(paused.status).toBe(200)
    expect((await kalends.schedules.list()).items).toMatchObject([{ id: 's', summary: 'x', enabled: false }])
    const both = await Promise.all(
      ['one', 'other'].map((summary) =>
        call('PATCH /api/v1/schedules/s', {
          headers: { 'if-match': paused.headers.get('etag') ?? '' },
          body: { summary },
        }),
      ),
    )
    expect(new Set(both.map(({ status }) => status))).toEqual(new Set([200, 412]))
  })

  it('a version reveals nothing about hidden values', async () => {
    const { call } = await apiScene(under, {}, { redact: ['args.pin'] })
    const tagWith = async (pin: string) =>
      (await call('PUT /api/v1/schedules/s', { body: { ...mail, args: { pin, to: 'x' } } })).headers.get(
        'etag',
      )
    const tag = await tagWith('4711')
    expect(await tagWith('4712')).toBe(tag)
    const changed = await call('PATCH /api/v1/schedules/s', {
      body: { args: { pin: '[redacted]', to: 'y' } },
    })
    expect(changed.headers.get('etag')).not.toBe(tag)
  })

  it('callers that cannot use every task cannot create freezes, and the hook decides about freezes', async () => {
    const seen: unknown[] = []
    const { call, kalends } = await apiScene(under, {
      authorize: (request) => ({
        role: 'admin',
        ...(request.headers.get('authorization') === 'Bearer some' && { tasks: ['mail'] }),
      }),
      permit: ({ action, task, scheduleId, freeze: held }) => {
        seen.push([action, task, scheduleId, held])
        return task !== 'secret'
      },
    })
    await kalends.schedules.create({ id: 's', task: 'mail', timer: 'daily' })
    await kalends.schedules.create({ id: 'own', task: 'kalends.prune', timer: 'daily' })
    const until = '2199-01-01T00:00:00Z'
    const freeze = (body: object, as = 'admin') =>
      call('POST /api/v1/freezes', { body: { until, ...body }, as })
    expect((await freeze({ task: 'mail' }, 'some')).status).toBe(403)
    expect((await freeze({ task: 'secret' })).status).toBe(403)
    expect((await freeze({ scheduleId: 's' })).status).toBe(201)
    expect((await freeze({ group: 'g' })).status).toBe(201)
    expect((await freeze({ all: true })).status).toBe(201)
    const everything = { task: null, group: null, scheduleId: null }
    expect(seen).toEqual([
      ['freeze', 'secret', null, { ...everything, task: 'secret' }],
      ['freeze', 'mail', 's', { ...everything, scheduleId: 's' }],
      ['freeze', '*', null, { ...everything, group: 'g' }],
      ['freeze', '*', null, everything],
    ])
    for (const target of [{ task: 'kalends.prune' }, { task: ' command' }, { scheduleId: 'own' }]) {
      const refused = await freeze(target)
      expect(refused).toMatchObject({ status: 403, body: { detail: expect.stringContaining('is built in') } })
    }
    const made = await kalends.freeze({ task: 'kalends.prune', until: new Date(until) })
    expect((await call(`DELETE /api/v1/freezes/${made.id}`)).status).toBe(403)
  })

  it('only the write that the hook has permitted happens, even if the row changes in the meantime', async () => {
    const edits: (() => Promise<unknown>)[] = []
    const { call, kalends } = await apiScene(under, {
      permit: async ({ task }) => {
        if (task !== 'mail') return 'only mail'
        await edits.shift()?.()
        return true
      },
    })
    const reset = () => kalends.schedules.put('s', { task: 'mail', timer: 'daily' })
    const edit = () => kalends.schedules.put('s', { task: 'billing', timer: 'daily' })
    for (const [line, body] of [
      ['PUT /api/v1/schedules/s', { ...mail, summary: 'x' }],
      ['PATCH /api/v1/schedules/s', { summary: 'x' }],
      ['POST /api/v1/schedules/s/pause', undefined],
      ['DELETE /api/v1/schedules/s', undefined],
      ['POST /api/v1/schedules/s/run', undefined],
    ] as const) {
      await reset()
      edits.push(edit)
      expect(await call(line, body && { body })).toMatchObject({ status: 403, body: { detail: 'only mail' } })
    }
    expect(await kalends.schedules.get('s')).toMatchObject({ task: 'billing', summary: null, enabled: true })
    await reset()
    const ifMatch = { headers: { 'if-match': '"0123456789012345678901"' } }
    expect((await call('POST /api/v1/schedules/s/run', ifMatch)).status).toBe(412)
    expect((await kalends.jobs.list()).total).toBe(0)
  })

  it.each([
    ['PUT /api/v1/schedules/s', mail],
    ['PATCH /api/v1/schedules/s', { summary: 'x' }],
    ['DELETE /api/v1/schedules/s', undefined],
    ['POST /api/v1/schedules/s/pause', undefined],
    ['POST /api/v1/schedules/s/run', undefined],
  ] as const)(
    '%s: if If-Match does not match the row, the response is 412, and the hook is not called',
    async (line, body) => {
      let edit: (() => Promise<unknown>) | null = null
      const asked: unknown[] = []
      const { call, kalends } = await apiScene(under, {
        permit: async ({ task }) => {
          asked.push(task)
          await edit?.()
          return true
        },
      })
      await kalends.schedules.create({ ...mail, id: 's', args: { pin: 'of mail' } })
      const billing = await kalends.schedules.put('s', {
        task: 'billing',
        timer: 'daily',
        args: { pin: 'of billing' },
      })
      const tag = `"${kalends.schedules.versionOf(billing.schedule)}"`
      await kalends.schedules.put('s', mail)
      edit = () =>
        kalends.schedules.put('s', { task: 'billing', timer: 'daily', args: { pin: 'of billing' } })
      expect(await call(line, { headers: { 'if-match': tag }, ...(body && { body }) })).toMatchObject({
        status: 412,
        body: { code: 'VERSION' },
      })
      expect(asked).toEqual([])
    },
  )

  it('if a schedule changes while the hook is asked about a run, the new version does not run [V7]', async () => {
    const edits: (() => Promise<unknown>)[] = []
    const { call, kalends } = await apiScene(under, {
      permit: async () => (await edits.shift()?.(), true),
    })
    const put = (to: string) => kalends.schedules.put('s', { ...mail, args: { to } })
    const { schedule } = await put('ann')
    const match = { headers: { 'if-match': `"${kalends.schedules.versionOf(schedule)}"` } }
    edits.push(() => put('bob'))
    expect((await call('POST /api/v1/schedules/s/run', match)).status).toBe(412)
    expect((await kalends.jobs.list()).total).toBe(0)
    await expect(kalends.schedules.runNow('s', { ifVersion: schedule })).rejects.toMatchObject({
      name: 'VersionError',
    })
  })

  it('a pause of a schedule that keeps changing is rejected as a conflict, not because of the wrong state', async () => {
    let count = 0
    const { call, kalends } = await apiScene(under, {
      permit: async () => {
        count += 1
        return (await kalends.schedules.put('s', { ...mail, args: { to: `${count}` } })) !== null
      },
    })
    await kalends.schedules.put('s', mail)
    expect(await call('POST /api/v1/schedules/s/pause')).toMatchObject({
      status: 409,
      body: { code: 'CONFLICT' },
    })
    expect(await kalends.schedules.get('s')).toMatchObject({ status: 'active' })
  })

  it('a redacted secret that is sent back keeps its current value, even if the value changed and the entity tag did not [V7]', async () => {
    const edits: (() => Promise<unknown>)[] = []
    const { call, kalends } = await apiScene(
      under,
      { permit: async () => (await edits.shift()?.(), true) },
      { redact: ['args.pin'] },
    )
    const put = (pin: string) => kalends.schedules.put('s', { ...mail, args: { pin, to: 'x' } })
    await put('4711-first')
    const tag = (await call('GET /api/v1/schedules/s')).headers.get('etag') ?? ''
    edits.push(() => put('4712-second'))
    const changed = await call('PATCH /api/v1/schedules/s', {
      headers: { 'if-match': tag },
      body: { args: { pin: '[redacted]', to: 'y' } },
    })
    expect(changed.status).toBe(200)
    expect((await kalends.schedules.get('s'))?.args).toEqual({ pin: '4712-second', to: 'y' })
  })

  it('a PUT of a new schedule does not replace a schedule that is created while the hook runs', async () => {
    const edits: (() => Promise<unknown>)[] = []
    const { call, kalends } = await apiScene(under, {
      permit: async ({ task }) => {
        await edits.shift()?.()
        return task === 'mail' || 'only mail'
      },
    })
    edits.push(() => kalends.schedules.create({ id: 's', task: 'billing', timer: 'daily' }))
    expect(await call('PUT /api/v1/schedules/s', { body: mail })).toMatchObject({
      status: 403,
      body: { detail: 'only mail' },
    })
    expect(await kalends.schedules.get('s')).toMatchObject({ task: 'billing' })
    // In code, too, `ifVersion: null` means that the schedule must not exist yet.
    await expect(kalends.schedules.put('s', mail, { ifVersion: null })).rejects.toMatchObject({
      code: 'KALENDS_VERSION',
    })
    expect((await kalends.schedules.put('t', mail, { ifVersion: null })).result).toBe('created')
  })

  it('the events of a scope do not depend on the actions of other owners [V3]', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'setTimeout', 'clearInterval', 'clearTimeout'] })
    try {
      const { send, call } = await apiScene(under)
      const listen = async (id?: string) => {
        const headers: Record<string, string> = id === undefined ? {} : { 'last-event-id': id }
        const { body } = await send('GET /api/v1/events', { as: 'ann', headers })
        const reader = body?.getReader()
        if (reader === undefined) throw new Error('the response has no stream')
        const read = async () => new TextDecoder().decode((await reader.read()).value)
        return { read, end: () => reader.cancel() }
      }
      const { read, end } = await listen()
      const hello = await read()
      for (let count = 0; count < 3; count += 1) {
        expect((await call('POST /api/v1/jobs', { body: { task: 'mail' } })).status).toBe(201)
        await vi.advanceTimersByTimeAsync(1000)
      }
      await vi.advanceTimersByTimeAsync(2000)
      const change = await read()
      expect(change).toContain('"topics":["schedules","jobs"]')
      expect(change).not.toContain('id:')
      await end()
      const again = await listen('1')
      expect(await again.read()).toBe(hello)
      expect(await again.read()).toBe(change)
      await again.end()
    } finally {
      vi.useRealTimers()
    }
  })
})
