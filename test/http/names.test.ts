/** Invalid names, such as those with invisible characters, are rejected at every entry point. */
import { expect, it } from 'vitest'
import { InvalidInputError, Kalends, task } from '../../src/index.ts'
import { isName } from '../../src/model/input.ts'
import { eachDatabase } from '../support/databases.ts'
import { lookalikes, unfit } from '../support/hostile-texts.ts'
import { apiScene } from './scene.ts'

const UNFIT = unfit('tick')
/** The empty string is left out, because it means no owner. */
const UNFIT_OWNERS = UNFIT.filter((text) => text !== '')

it('a name with surrounding spaces, control characters, invisible characters or lone surrogates is rejected', () => {
  expect(UNFIT.filter((text) => isName(text, 254))).toEqual([])
  for (const text of ['tick', 'send mail', 'Täglich', 'e\u0301té', '👍🏽', 'a/b', 'x'.repeat(254)])
    expect(isName(text, 254), text).toBe(true)
  for (const value of [undefined, null, 7, ['tick'], { toString: () => 'tick' }])
    expect(isName(value, 254)).toBe(false)
  expect(lookalikes('tick').some((text) => isName(text, 254))).toBe(true)
})

it('the error names the invisible character', () => {
  expect(() => task('ti\u200bck')).toThrow(
    /^task: must be a name without invisible characters, .*, which contains U\+200B/,
  )
  expect(() => task('ti\u{e0041}ck')).toThrow(/U\+E0041/)
})

eachDatabase((under) => {
  it('every entry point rejects invalid names, and nothing is stored [L50]', async () => {
    const { kalends, database, call } = await apiScene(under)
    const timer = 'daily'
    const places: Readonly<Record<string, (text: string) => unknown>> = {
      task: (text) => task(text),
      'task of a schedule': (text) => kalends.schedules.create({ id: 's', task: text, timer }),
      'id of a schedule': (text) => kalends.schedules.create({ id: text, task: 't', timer }),
      'id that is put': (text) => kalends.schedules.put(text, { task: 't', timer }),
      'task of a job': (text) => kalends.jobs.submit(text, {}),
      'id of a job': (text) => kalends.jobs.submit('t', {}, { id: text }),
      'name of a set': (text) => kalends.declare(text, []),
      'name of a worker': (text) => Kalends.open(database.url, { worker: text }),
      'task of a scope': (text) => kalends.scope({ submitter: 'ann', tasks: [text] }),
      'submitter of a scope': (text) => kalends.scope({ submitter: text }),
      'group of a scope': (text) => kalends.scope({ group: text }),
    }
    const owners: Readonly<Record<string, (text: string) => unknown>> = {
      'group of a schedule': (text) => kalends.schedules.create({ id: 's', task: 't', timer, group: text }),
      'submitter of a schedule': (text) =>
        kalends.schedules.create({ id: 's', task: 't', timer, submitter: text }),
      'group of a job': (text) => kalends.jobs.submit('t', {}, { group: text }),
      'submitter of a job': (text) => kalends.jobs.submit('t', {}, { submitter: text }),
    }
    const refused = async (places_: typeof places, texts: readonly string[]) => {
      for (const [place, act] of Object.entries(places_))
        for (const text of texts)
          await expect((async () => act(text))(), `${place}: ${JSON.stringify(text)}`).rejects.toBeInstanceOf(
            InvalidInputError,
          )
    }
    await refused(places, UNFIT)
    await refused(owners, UNFIT_OWNERS)
    for (const text of UNFIT) {
      for (const [line, body] of [
        ['POST /api/v1/schedules', { id: 's', task: text, timer }],
        ['POST /api/v1/schedules', { id: text, task: 't', timer }],
        ['POST /api/v1/jobs', { task: text }],
        ['POST /api/v1/jobs', { id: text, task: 't' }],
        ...(text === '' ? [] : ([['POST /api/v1/jobs', { task: 't', group: text }]] as const)),
        ...(text === '' ? [] : ([['POST /api/v1/jobs', { task: 't', submitter: text }]] as const)),
      ] as const)
        expect((await call(line, { body })).status, `${line} ${JSON.stringify(body)}`).toBe(422)
    }
    for (const table of ['periodic_task', 'job'])
      expect(await database.query(`SELECT * FROM ${table}`)).toEqual([])
  })
})
