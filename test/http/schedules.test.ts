import { describe, expect, it } from 'vitest'
import { ended } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'
import { apiScene } from './scene.ts'

const UUID = /^[\da-f]{8}-[\da-f]{4}-7/
const mail = { task: 'mail', timer: 'daily' }

eachDatabase((under) => {
  it('a schedule is created, read, replaced, changed and deleted', async () => {
    const { call } = await apiScene(under)
    const made = await call('POST /api/v1/schedules', { body: { ...mail, args: { to: 'x' } } })
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({ id: expect.stringMatching(UUID), status: 'active', args: { to: 'x' } })
    const path = made.headers.get('location') ?? ''
    expect(path).toBe(`/api/v1/schedules/${made.body.id}`)
    const { warning, ...schedule } = made.body
    expect(warning).toContain('No known worker handles the task')
    expect((await call(`GET ${path}`)).body).toEqual(schedule)
    const put = await call(`PUT ${path}`, { body: { ...mail, timer: 'Mon 09:00', timeout: '5min' } })
    expect([put.status, put.body]).toMatchObject([200, { timer: 'Mon 09:00', args: {}, timeout: 300_000 }])
    const patch = await call(`PATCH ${path}`, { body: { timeout: null, starts: '2099-01-01T00:00:00Z' } })
    expect([patch.status, patch.body]).toMatchObject([
      200,
      { timer: 'Mon 09:00', timeout: null, starts: '2099-01-01T00:00:00.000Z' },
    ])
    expect((await call(`DELETE ${path}`)).status).toBe(204)
    expect((await call(`GET ${path}`)).status).toBe(404)
    expect((await call(`DELETE ${path}`)).status).toBe(404)
  })

  it('a timer can have a zone, a schedule can get another task, and a job can have a delay', async () => {
    const { call, kalends } = await apiScene(under)
    const path = '/api/v1/schedules/s'
    const put = await call(`PUT ${path}`, { body: { ...mail, timer: '09:00', zone: 'Europe/Berlin' } })
    expect(put).toMatchObject({ status: 201, body: { timer: '09:00 Europe/Berlin' } })
    const patch = await call(`PATCH ${path}`, { body: { task: 'work', timer: '10:00', zone: 'Asia/Tokyo' } })
    expect(patch).toMatchObject({ status: 200, body: { task: 'work', timer: '10:00 Asia/Tokyo' } })
    for (const wrong of [
      { zone: 'UTC' },
      { timer: '10:00', zone: 'Nowhere' },
      { timer: '10:00 UTC', zone: 'Asia/Tokyo' },
    ])
      expect(await call(`PATCH ${path}`, { body: wrong })).toMatchObject({
        status: 422,
        body: { field: 'zone' },
      })
    const job = await call('POST /api/v1/jobs', { body: { task: 'mail', delay: '1h' } })
    const runAt = new Date(job.body.runAt).getTime()
    expect(runAt - new Date(job.body.submittedAt).getTime()).toBe(3_600_000)
    const both = { task: 'mail', delay: '1h', runAt: '2099-01-01T00:00:00Z' }
    expect(await call('POST /api/v1/jobs', { body: both })).toMatchObject({
      status: 422,
      body: { field: 'delay' },
    })
    expect((await kalends.jobs.list()).total).toBe(1)
  })

  it('a request that is sent twice with a caller-chosen id creates one row', async () => {
    const { call, kalends } = await apiScene(under)
    const body = { ...mail, id: 'a?ä 1' }
    expect((await call('POST /api/v1/schedules', { body })).status).toBe(201)
    expect((await call('POST /api/v1/schedules', { body })).status).toBe(200)
    expect(await call('POST /api/v1/schedules', { body: { ...body, timer: 'hourly' } })).toMatchObject({
      status: 409,
      body: { code: 'CONFLICT' },
    })
    const atOnce = await Promise.all(
      [1, 2, 3].map(() => call('POST /api/v1/schedules', { body: { ...mail, id: 'at once' } })),
    )
    expect(atOnce.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(atOnce.filter(({ status }) => status === 200)).toHaveLength(2)
    await kalends.schedules.delete('at once')
    const path = `/api/v1/schedules/${encodeURIComponent(body.id)}`
    expect((await call(`PUT ${path}`, { body: mail })).status).toBe(200)
    expect((await call('PUT /api/v1/schedules/new', { body: mail })).status).toBe(201)
    expect((await call('PUT /api/v1/schedules/new', { body: mail })).status).toBe(200)
    expect((await kalends.schedules.list()).total).toBe(2)
    const job = { task: 'mail', id: 'job-1', args: { a: [1] } }
    const both = await Promise.all([1, 2].map(() => call('POST /api/v1/jobs', { body: job })))
    expect(new Set(both.map(({ status }) => status))).toEqual(new Set([200, 201]))
    expect((await call('POST /api/v1/jobs', { body: { ...job, args: {} } })).status).toBe(409)
    expect((await kalends.jobs.list()).total).toBe(1)
  })

  it('pause and resume are rejected in states that do not allow them, and reset reactivates done schedules [R1]', async () => {
    const { call, database } = await apiScene(under)
    await call('PUT /api/v1/schedules/s', { body: mail })
    const at = (action: string) => call(`POST /api/v1/schedules/s/${action}`)
    expect(await at('resume')).toMatchObject({ status: 400, body: { code: 'WRONG_STATE' } })
    expect(await at('pause')).toMatchObject({ status: 200, body: { status: 'paused', enabled: false } })
    expect((await at('pause')).status).toBe(400)
    expect(await at('resume')).toMatchObject({ status: 200, body: { status: 'active' } })
    expect((await at('reset')).status).toBe(400)
    await database.query("UPDATE periodic_task SET idle = 'done', run_count = 5")
    expect(await at('reset')).toMatchObject({ status: 200, body: { status: 'active', runCount: 0 } })
    expect((await call('POST /api/v1/schedules/none/pause')).status).toBe(404)
  })

  it('a pause can have a reason, and either keeps or cancels waiting jobs', async () => {
    const { call, kalends, lines } = await apiScene(under)
    await call('PUT /api/v1/schedules/s', { body: mail })
    const { body: run } = await call('POST /api/v1/schedules/s/run')
    const pause = (body: object) => call('POST /api/v1/schedules/s/pause', { body })
    expect(await pause({ job: 'cancel' })).toMatchObject({ status: 422 })
    expect(await pause({ jobs: 'leave', reason: 'See #1' })).toMatchObject({
      status: 200,
      body: { status: 'paused', pauseReason: 'See #1' },
    })
    expect(await kalends.jobs.get(run.jobId)).toMatchObject({ state: 'waiting' })
    const resumed = await call('POST /api/v1/schedules/s/resume')
    expect(resumed.body).toMatchObject({ status: 'active', pauseReason: null })
    expect((await pause({ jobs: 'cancel' })).status).toBe(200)
    expect(await kalends.jobs.get(run.jobId)).toMatchObject({ state: 'cancelled' })
    expect(lines.some(({ fields }) => JSON.stringify(fields).includes('See #1'))).toBe(true)
  })

  it('without a scope, readers can list freezes, operators can preview them, and only administrators can create and end them', async () => {
    const { call, kalends, lines } = await apiScene(under)
    await call('PUT /api/v1/schedules/s', { body: mail })
    const target = { task: 'mail', until: '2199-01-01T00:00:00.000Z' }
    const preview = await call('POST /api/v1/freezes/preview', {
      body: { scheduleId: 's', until: new Date(Date.now() + 864e5) },
      as: 'operator',
    })
    expect(preview).toMatchObject({
      status: 200,
      body: { slots: [{ scheduleId: 's' }], isComplete: true, jobs: 0 },
    })
    const made = await call('POST /api/v1/freezes', { body: { ...target, reason: 'Maintenance' } })
    expect(made).toMatchObject({ status: 201, body: { ...target, group: null, reason: 'Maintenance' } })
    expect((await call('GET /api/v1/freezes', { as: 'reader' })).body.items).toEqual([made.body])
    const path = `DELETE /api/v1/freezes/${made.body.id}`
    for (const as of ['reader', 'operator', 'ann']) {
      expect((await call('POST /api/v1/freezes', { body: target, as })).status).toBe(403)
      expect((await call(path, { as })).status).toBe(403)
    }
    expect((await call('GET /api/v1/freezes', { as: 'ann' })).status).toBe(403)
    expect(await call('POST /api/v1/freezes', { body: { until: target.until } })).toMatchObject({
      status: 422,
      body: { field: 'all' },
    })
    expect(
      await call('POST /api/v1/freezes', { body: { ...target, until: '2020-01-01T00:00:00Z' } }),
    ).toMatchObject({
      status: 422,
      body: { field: 'until' },
    })
    expect((await call('POST /api/v1/freezes', { body: { ...target, scheduleId: 'none' } })).status).toBe(404)
    const ended = await call(path)
    expect(ended).toMatchObject({ status: 200, body: { id: made.body.id, task: 'mail' } })
    expect(Date.parse(ended.body.until)).toBeLessThan(Date.parse(target.until))
    expect((await call(path)).status).toBe(404)
    expect(await kalends.freezes()).toEqual([])
    const audits = lines.flatMap(({ fields }) => ('audit' in fields ? [fields['audit']] : []))
    expect(audits.slice(-2)).toMatchObject([
      { action: 'freeze', freezeId: made.body.id, before: null },
      { action: 'thaw', freezeId: made.body.id, before: { task: 'mail' } },
    ])
  })

  it('a PUT of the response to a GET changes nothing, even with redacted args', async () => {
    const { call, kalends, lines } = await apiScene(under, {}, { redact: ['args.password'] })
    await kalends.schedules.create({
      id: 's',
      task: 'mail',
      timer: 'daily Europe/Berlin',
      args: { password: 'hunter2', to: 'x' },
      retries: 2,
      jitter: '1min',
      starts: new Date('2030-01-01'),
    })
    const before = await kalends.schedules.get('s')
    const { body } = await call('GET /api/v1/schedules/s')
    expect(body.args.password).toBe('[redacted]')
    const put = await call('PUT /api/v1/schedules/s', { body })
    expect([put.status, put.body]).toEqual([200, body])
    expect(await kalends.schedules.get('s')).toEqual(before)
    await call('PUT /api/v1/schedules/s', { body: { ...body, summary: 'new' } })
    expect(await kalends.schedules.get('s')).toEqual({ ...before, summary: 'new' })
    expect((await call('PUT /api/v1/schedules/other', { body })).status).toBe(422)
    expect(lines.filter(({ fields }) => 'audit' in fields)).toHaveLength(1)
  })

  it('a manual run returns the id of its job, and a conflict names the unfinished job [S9, U3]', async () => {
    const { call, kalends } = await apiScene(under)
    await call('PUT /api/v1/schedules/s', { body: mail })
    const run = await call('POST /api/v1/schedules/s/run', { body: { args: { once: true } } })
    expect(run.status).toBe(200)
    expect(await kalends.jobs.get(run.body.jobId)).toMatchObject({ args: { once: true } })
    expect(await call('POST /api/v1/schedules/s/run')).toMatchObject({
      status: 409,
      body: { code: 'CONFLICT', jobId: run.body.jobId },
    })
    expect((await call('POST /api/v1/schedules/s/run', { as: 'operator', body: { args: {} } })).status).toBe(
      403,
    )
  })

  it('schedules can be paged, filtered, counted, listed with their runs, and deleted in a batch', async () => {
    const { call, kalends } = await apiScene(under)
    for (const id of ['c', 'a', 'b', 'd']) {
      await kalends.schedules.create({ id, task: id === 'd' ? 'other' : 'mail', timer: 'daily', group: 'g' })
    }
    await kalends.schedules.pause('b')
    await kalends.schedules.runNow('a')
    const ids = async (query: string) => {
      const { body } = await call(`GET /api/v1/schedules/${query}`)
      return [body.items.map(({ id }: { id: string }) => id), body.total, body.next]
    }
    expect(await ids('')).toEqual([['a', 'b', 'c', 'd'], 4, null])
    expect(await ids('?limit=2')).toEqual([['a', 'b'], 4, 'b'])
    expect(await ids('?after=b')).toEqual([['c', 'd'], 4, null])
    expect(await ids('?status=paused&task=mail&group=g')).toEqual([['b'], 1, null])
    expect(await ids('?text=OTHER')).toEqual([['d'], 1, null])
    const page = await call('GET /api/v1/schedules?runs=3')
    expect(page.body.items[0]).toMatchObject({
      timerDescription: expect.stringContaining('day'),
      runs: [{ state: 'waiting' }],
    })
    expect((await call('GET /api/v1/counts/schedules?task=mail')).body).toEqual({
      counts: { active: 2, paused: 1 },
      isExact: true,
    })
    const batch = { body: { ids: ['a', 'none', 'b'] } }
    const ofOne = { ...batch, headers: { 'if-match': '"0123456789012345678901"' } }
    expect((await call('POST /api/v1/schedules/batch-delete', ofOne)).status).toBe(422)
    expect((await call('POST /api/v1/schedules/batch-delete', batch)).status).toBe(204)
    expect(await ids('')).toEqual([['c', 'd'], 2, null])
  })

  it('a schedule has a history, next runs and explanations', async () => {
    const { call, kalends } = await apiScene(under)
    await call('PUT /api/v1/schedules/s', { body: { task: 'mail', timer: '9:00 Europe/Berlin' } })
    const job = await kalends.schedules.runNow('s')
    expect((await call('GET /api/v1/schedules/s/history')).body.items).toMatchObject([
      { id: job, state: 'waiting' },
    ])
    expect((await call('GET /api/v1/schedules/s/elapses?limit=1&after=2026-03-27T12:00:00Z')).body).toEqual({
      zone: 'Europe/Berlin',
      items: [{ at: '2026-03-28T08:00:00.000Z', local: 'Sat 2026-03-28 09:00:00 +01:00' }],
    })
    expect((await call('GET /api/v1/schedules/s/explain')).body.reasons.join()).toContain('no live worker')
    for (const of of ['history', 'elapses', 'explain'])
      expect((await call(`GET /api/v1/schedules/none/${of}`)).status).toBe(404)
  })

  describe('jobs', () => {
    it('can be submitted, listed, counted, cancelled and retried, and many can be changed at once', async () => {
      const { call, kalends, database } = await apiScene(under)
      const ids: string[] = []
      for (let index = 0; index < 5; index += 1) ids.push(await kalends.jobs.submit('mail', { index }))
      const cancelled = await call(`POST /api/v1/jobs/${ids[0]}/cancel`)
      expect(cancelled.body).toMatchObject({ id: ids[0], task: 'mail', state: 'cancelled' })
      expect((await call('GET /api/v1/counts/jobs')).body.counts).toEqual({ waiting: 4, cancelled: 1 })
      const dry = await call('POST /api/v1/jobs/cancel', { body: { filter: { task: 'mail' }, dryRun: true } })
      expect(dry.body).toEqual({ matched: 4, matchedIsExact: true, changed: [], refused: [], more: false })
      const some = await call('POST /api/v1/jobs/cancel', { body: { filter: { task: 'mail' }, limit: 3 } })
      expect(some.body).toMatchObject({ matched: 4, refused: [], more: true })
      expect(some.body.changed).toHaveLength(3)
      const many = await call('POST /api/v1/jobs/retry', { body: { ids: [...ids, 'none'] } })
      expect(new Set(many.body.changed)).toEqual(new Set([...some.body.changed, ids[0]]))
      expect(many.body.refused).toHaveLength(2)
      expect(
        (await call('POST /api/v1/jobs/retry', { body: { filter: { state: 'success' } } })).body,
      ).toMatchObject({
        status: 422,
        field: 'filter.state',
      })
      await database.query("UPDATE job SET state = 'failed', error = 'Error: no disk\n at x'")
      expect((await call('GET /api/v1/failures')).body.items).toMatchObject([
        { error: 'Error: no disk', jobs: 5, tasks: ['mail'] },
      ])
      expect((await call('GET /api/v1/jobs?error=DISK&limit=2')).body).toMatchObject({
        total: 5,
        items: [{}, {}],
      })
      expect((await call('POST /api/v1/jobs/retry', { body: { filter: {} } })).body.changed).toHaveLength(5)
    })

    it('show their failed and successful attempts', async () => {
      const { call, kalends } = await apiScene(under)
      const { task } = await import('../../src/index.ts')
      kalends.handle(task('flaky', { retryDelay: 20 }), ({ attempt }) => {
        if (attempt === 1) throw new Error('not yet')
      })
      await kalends.start()
      const id = await kalends.jobs.submit('flaky')
      await ended(kalends, id)
      const { status, body } = await call(`GET /api/v1/jobs/${id}/attempts`)
      expect(status).toBe(200)
      expect(body.items).toMatchObject([
        { attempt: 1, outcome: 'failed', error: expect.stringContaining('not yet') },
        { attempt: 2, outcome: 'success', error: null },
      ])
      expect((await call('GET /api/v1/jobs/none/attempts')).status).toBe(404)
    })

    it('return all lines of their log or, on request, only those after a given line', async () => {
      const { call, kalends } = await apiScene(under)
      const { task } = await import('../../src/index.ts')
      kalends.handle(task('talk'), ({ log }) => {
        log.info('one')
        log.warn('two')
        return { said: 2 }
      })
      await kalends.start()
      const id = await kalends.jobs.submit('talk')
      await ended(kalends, id)
      const { body } = await call(`GET /api/v1/jobs/${id}/logs`)
      expect(
        body.items.map(({ level, message }: { level: string; message: string }) => [level, message]),
      ).toEqual([
        ['info', 'one'],
        ['warn', 'two'],
      ])
      const rest = await call(`GET /api/v1/jobs/${id}/logs?after=${body.items[0].id}`)
      expect(rest.body.items).toEqual([body.items[1]])
      expect((await call(`GET /api/v1/jobs/${id}`)).body).toMatchObject({
        state: 'success',
        result: { said: 2 },
      })
      expect((await call('GET /api/v1/jobs/none/logs')).status).toBe(404)
      const workers = await call('GET /api/v1/workers')
      expect(workers.body.items).toMatchObject([{ alive: true, tasks: expect.arrayContaining(['talk']) }])
      expect((await call('GET /api/v1/tasks')).body.items).toContainEqual({ name: 'talk', workers: 1 })
    })
  })

  it('the API shows the load per hour and the upcoming runs', async () => {
    const { call, kalends, database } = await apiScene(under)
    await kalends.schedules.create({ id: 'daily', task: 'mail', timer: '03:00' })
    await kalends.schedules.create({ id: 'often', task: 'mail', timer: '*:*:*' })
    await kalends.schedules.create({ id: 'off', task: 'mail', timer: '03:00', enabled: false })
    await database.query(
      "INSERT INTO job (id, task, state, finished) VALUES ('j', 'mail', 'failed', '2026-03-02 03:10:00.000')",
    )
    const load = await call('GET /api/v1/load?from=2026-03-02T00:00:30Z&hours=24')
    expect(load.body.hours).toHaveLength(24)
    expect(load.body).toMatchObject({ schedules: 2, endedIsComplete: true, plannedIsExact: false })
    expect(load.body.hours[3]).toEqual({
      hour: '2026-03-02T03:00:00.000Z',
      planned: 3601,
      ended: { failed: 1 },
    })
    expect(load.body.hours[23].planned).toBe(3600)
    // Midnight in Kolkata.
    const shifted = await call('GET /api/v1/load?from=2026-03-01T18:30:00Z&hours=24')
    expect(shifted.body.hours[8]).toEqual({
      hour: '2026-03-02T02:30:00.000Z',
      planned: 3601,
      ended: { failed: 1 },
    })
    const upcoming = await call('GET /api/v1/upcoming?from=2199-03-02T03:00:00Z&to=2199-03-02T03:00:02Z')
    expect(
      upcoming.body.items.map(({ scheduleId }: { scheduleId: string }) => scheduleId).toSorted(),
    ).toEqual(['daily', 'often', 'often'])
  })
})
