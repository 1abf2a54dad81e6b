/** The length limits of ids and names, from the entry points to the tables. */
import { expect, it } from 'vitest'
import { InvalidInputError, task } from '../../src/index.ts'
import { NAME_LIMIT } from '../../src/model/settings.ts'
import { eachDatabase } from '../support/databases.ts'
import { apiScene } from './scene.ts'

/** One character that has two code units in JavaScript. */
const WIDE = '👍'
const LONGEST = WIDE.repeat(NAME_LIMIT)
const LONGER = `${LONGEST}${WIDE}`
const timer = 'yearly'

eachDatabase((under) => {
  it('a name can have up to 254 characters in the library, the API and the tables [V9]', async () => {
    const { kalends, database, call } = await apiScene(under)
    const { schedules, jobs } = kalends
    const refused = (work: () => unknown) =>
      expect((async () => work())()).rejects.toSatisfy(
        (error) => error instanceof InvalidInputError && /\b254 characters\b/.test(error.message),
      )
    const names = { task: LONGEST, group: LONGEST, submitter: LONGEST }
    expect(await schedules.create({ id: LONGEST, timer, ...names })).toMatchObject({ id: LONGEST, ...names })
    const path = `/api/v1/schedules/${encodeURIComponent(LONGEST)}`
    expect((await call(`GET ${path}`)).body).toMatchObject({ id: LONGEST, ...names })
    expect((await call(`DELETE ${path}`)).status).toBe(204)
    const schedule = { id: LONGEST, timer, ...names }
    expect((await call('POST /api/v1/schedules', { body: schedule })).status).toBe(201)
    const job = { id: 'j'.repeat(NAME_LIMIT), ...names }
    expect((await call('POST /api/v1/jobs', { body: job })).body).toMatchObject({ id: job.id })
    for (const field of ['task', 'group', 'submitter'] as const) {
      await refused(() => schedules.create({ id: 's', timer, ...names, [field]: LONGER }))
      await refused(() => jobs.submit({ ...names, [field]: LONGER }))
      const body = { ...names, [field]: LONGER }
      for (const [line, more] of [
        ['POST /api/v1/schedules', { timer }],
        ['POST /api/v1/jobs', {}],
      ] as const)
        expect(await call(line, { body: { ...body, ...more } })).toMatchObject({
          status: 422,
          body: { field, detail: expect.stringContaining('254 characters') },
        })
    }
    for (const id of [LONGER, 'x'.repeat(NAME_LIMIT + 1)]) {
      await refused(() => schedules.create({ id, timer, task: 't' }))
      await refused(() => schedules.put(id, { timer, task: 't' }))
      await refused(() => jobs.submit('t', {}, { id }))
      expect((await call('POST /api/v1/schedules', { body: { id, timer, task: 't' } })).status).toBe(422)
      expect((await call('POST /api/v1/jobs', { body: { id, task: 't' } })).status).toBe(422)
    }
    await refused(() => kalends.declare(LONGER, []))
    await refused(() => task(LONGER))
    await refused(() => kalends.scope({ submitter: LONGER }))
    expect(await database.query('SELECT COUNT(*) AS number FROM periodic_task')).toEqual([{ number: 1 }])
    expect(await database.query('SELECT COUNT(*) AS number FROM job')).toEqual([{ number: 1 }])
  })

  it('a job id that is not ASCII is rejected for a new job, and is never found', async () => {
    const { kalends, call } = await apiScene(under)
    const message = 'id: must be a job id of 1 to 254 ASCII characters, got "Zoë"'
    await expect(kalends.jobs.submit('t', {}, { id: 'Zoë' })).rejects.toThrow(message)
    await expect(kalends.jobs.submitMany([{ task: task('t'), id: 'Zoë' }])).rejects.toThrow(message)
    expect(await call('POST /api/v1/jobs', { body: { task: 't', id: 'Zoë' } })).toMatchObject({
      status: 422,
      body: { field: 'id', detail: expect.stringContaining('ASCII') },
    })
    for (const line of ['GET /api/v1/jobs/Zo%C3%AB', 'POST /api/v1/jobs/Zo%C3%AB/cancel'])
      expect((await call(line)).status, line).toBe(404)
    expect((await call('GET /api/v1/jobs?id=Zo%C3%AB')).body).toMatchObject({ items: [] })
  })

  it('the API can return lists with the longest ids page by page', async () => {
    const { kalends, call } = await apiScene(under)
    const ends = ['a', 'b', 'c']
    for (const end of ends) {
      await kalends.schedules.create({ id: `${WIDE.repeat(NAME_LIMIT - 1)}${end}`, timer, task: 't' })
      const id = `${'j'.repeat(NAME_LIMIT - 1)}${end}`
      await kalends.jobs.submit('t', {}, { id })
      await kalends.jobs.cancel(id)
    }
    for (const list of [
      'schedules?order=nextRunAt',
      'schedules?limit=1',
      'jobs?state=cancelled',
      'jobs?finishedFrom=2020-01-01T00:00:00Z',
    ]) {
      const seen: string[] = []
      for (let next: unknown = ''; typeof next === 'string'; ) {
        const after = next === '' ? '' : `&after=${encodeURIComponent(next)}`
        const { status, body } = await call(`GET /api/v1/${list.replace('limit=1', '')}&limit=1${after}`)
        expect(status, list).toBe(200)
        for (const { id } of body.items) seen.push(String(id).slice(-1))
        next = body.next
      }
      expect(seen.toSorted(), list).toEqual(ends)
    }
  })

  it('an owner with a name of the maximum length can submit jobs with generated and chosen ids [V9]', async () => {
    const { kalends, database } = await apiScene(under)
    for (const owner of [
      { group: LONGEST, submitter: LONGEST },
      { submitter: 'Zoë 日本' },
      { submitter: 'x'.repeat(NAME_LIMIT) },
    ]) {
      const { jobs, schedules } = kalends.scope({ ...owner, tasks: ['t'] })
      const generated = await jobs.submit('t')
      expect(await jobs.get(generated)).toMatchObject({ id: generated, ...owner })
      expect(await jobs.submit('t', {}, { id: 'chosen' })).toBe('chosen')
      await expect(jobs.submit('t', {}, { id: 'chosen' })).rejects.toThrow(/'chosen' already exists/)
      const { id } = await schedules.create({ task: 't', timer })
      expect(await jobs.get(await schedules.runNow(id))).toMatchObject({ scheduleId: id, ...owner })
      await schedules.create({ id: 'nächtlich', task: 't', timer })
      expect(await schedules.get('nächtlich')).toMatchObject({ id: 'nächtlich', ...owner })
      expect((await jobs.list({ limit: 10 })).items.map((job) => job.id)).toContain('chosen')
      expect(await jobs.cancel('chosen')).toMatchObject({ id: 'chosen', state: 'cancelled' })
      await expect(jobs.submit('t', {}, { id: 'x'.repeat(NAME_LIMIT) })).rejects.toThrow(
        /^id: must be an id of 1 to \d+ characters \(the prefix of this scope takes \d+ of 254\)/,
      )
      await expect(schedules.create({ id: LONGEST, task: 't', timer })).rejects.toThrow(/of 254/)
    }
    const stored = await database.query("SELECT id FROM job WHERE id LIKE 'Zo%'")
    expect(stored).toEqual([{ id: 'Zo%C3%AB%20%E6%97%A5%E6%9C%AC/chosen' }])
  })

  it('the OpenAPI document contains the limits', async () => {
    const { call } = await apiScene(under)
    const { components } = (await call('GET /api/v1/openapi.json')).body
    const { NewSchedule, NewJob } = components.schemas
    for (const field of ['id', 'task'])
      for (const schema of [NewSchedule, NewJob])
        expect(schema.properties[field], field).toMatchObject({ minLength: 1, maxLength: NAME_LIMIT })
    for (const field of ['group', 'submitter'])
      expect(JSON.stringify(NewJob.properties[field]), field).toContain(`"maxLength":${NAME_LIMIT}`)
    expect(NewSchedule.properties.timer).toMatchObject({ maxLength: 512 })
  })
})
