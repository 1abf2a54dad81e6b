/** Putting back what `get` returned changes nothing, in the library and over REST, for all settings. */
import * as fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { http } from '../../src/http/index.ts'
import { Kalends, task } from '../../src/index.ts'
import { isNullable, OPTION_NAMES, type OptionName, settingOf } from '../../src/model/settings.ts'
import { runs } from '../support/runs.ts'

const work = task('work')
const redact = ['args.password', 'args.users.*.key']

/** Values of one setting, as people write them. */
function valuesOf(name: OptionName): fc.Arbitrary<unknown> {
  const setting = settingOf(name)
  const value = (): fc.Arbitrary<unknown> => {
    switch (setting.kind) {
      case 'text':
        return fc.constantFrom('a', 'Ä 😀', 'x'.repeat(setting.most))
      case 'whole':
        return fc.integer({ min: setting.least, max: Math.min(setting.most, Number.MAX_SAFE_INTEGER) })
      case 'span':
        return fc.oneof(
          fc.integer({ min: setting.least, max: setting.most }),
          fc.constantFrom('90s', '1h 5min'),
        )
      case 'choice':
        return fc.constantFrom(...Object.keys(setting.values))
      case 'instant':
        return fc.constant(
          new Date(setting.column === 'ends' ? '2300-01-02T03:04:05.678Z' : '2020-01-01T00:00:00.001Z'),
        )
      case 'flag':
        return fc.boolean()
      default:
        throw new Error(`${name} has no values in this test`)
    }
  }
  return isNullable(setting) ? fc.oneof(fc.constant(null), value()) : value()
}

const options = fc.record(Object.fromEntries(OPTION_NAMES.map((name) => [name, valuesOf(name)])), {
  requiredKeys: [],
})
const secret = fc.oneof(fc.string(), fc.constantFrom('hunter2', null, 7, { deep: ['s'] }))
const args = fc.record(
  {
    // The API rejects numbers that JavaScript may round.
    to: fc
      .json()
      .filter((text) => !/\d{16}/u.test(text))
      .map((text): unknown => JSON.parse(text)),
    password: secret,
    users: fc.array(fc.record({ key: secret, name: fc.string({ unit: 'grapheme' }) }), { maxLength: 3 }),
  },
  { requiredKeys: [] },
)
const timer = fc.constantFrom(
  'daily',
  'Mon..Fri 09:00 Europe/Berlin',
  'cron */5 * * * mon-fri',
  'every 5min',
  'every 2h after finish',
  '2199-03-04 05:06',
)
const input = fc.record({ timer, options, args, isPaused: fc.boolean() })

async function opened(): Promise<Kalends> {
  const kalends = await Kalends.open('sqlite::memory:', { redact })
  onTestFinished(() => kalends.stop({ grace: 0 }))
  kalends.handle(work, () => undefined)
  return kalends
}

test('`put` returns "unchanged" for what `get` returned, and a PUT of a GET response returns the same response', async () => {
  const kalends = await opened()
  const { schedules } = kalends
  const handler = http(kalends, { authorize: () => ({ role: 'admin', builtInTasks: true }) })
  const call = async (method: string, body?: string) => {
    const response = await handler(
      new Request('http://app.example/api/v1/schedules/s', {
        method,
        ...(body !== undefined && { body, headers: { 'content-type': 'application/json' } }),
      }),
    )
    return [response.status, await response.text()] as const
  }
  await fc.assert(
    fc.asyncProperty(input, async (given) => {
      await schedules.put('s', { task: work, timer: given.timer, args: given.args, ...given.options })
      if (given.isPaused) await schedules.pause('s').catch(() => undefined)
      const stored = await schedules.get('s')
      if (stored === null) throw new Error('schedule not found')
      expect(await schedules.put('s', stored)).toEqual({ result: 'unchanged', schedule: stored })
      const [, shown] = await call('GET')
      expect(await call('PUT', shown)).toEqual([200, shown])
      expect(await schedules.get('s')).toEqual(stored)
      await schedules.delete('s')
    }),
    runs(300),
  )
})

test('putting back what `get` returned keeps a declared schedule in its set', async () => {
  await fc.assert(
    fc.asyncProperty(timer, options, async (declared, given) => {
      const kalends = await opened()
      const { enabled: _, ...settings } = given
      kalends.declare('set', [{ id: 's', task: work, timer: declared, ...settings }])
      await kalends.start({ concurrency: 0 })
      const stored = await kalends.schedules.get('s')
      if (stored === null) throw new Error('schedule not found')
      const { result, schedule } = await kalends.schedules.put('s', stored)
      expect([result, schedule.declaredBy]).toEqual(['unchanged', 'set'])
      await kalends.stop({ grace: 0 })
    }),
    runs(30),
  )
})
