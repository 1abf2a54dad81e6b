/** Every setting of src/model/settings.ts exists in every required place. */
import { getTableColumns } from 'drizzle-orm'
import { describe, expect, it, test } from 'vitest'
import { submitCommand } from '../src/cli/jobs/submit.ts'
import { addCommand, editCommand } from '../src/cli/schedules/write.ts'
import * as answers from '../src/http/answer-schemas.ts'
import * as bodies from '../src/http/body-schemas.ts'
import { Kalends, task } from '../src/index.ts'
import {
  JOB_OPTION_NAMES,
  JOB_SETTING_NAMES,
  OPTION_NAMES,
  type Setting,
  SETTING_NAMES,
  type SettingName,
  settingOf,
} from '../src/model/settings.ts'
import * as mysql from '../src/drizzle/mysql.ts'
import * as sqlite from '../src/drizzle/sqlite.ts'
import { PARTS } from '../src/generated/parts.ts'
import { eachDatabase } from './support/databases.ts'

const columnsOf = (names: readonly SettingName[]) => names.map((name) => settingOf(name).column)
const keysOf = (schema: { readonly shape: object }) => Object.keys(schema.shape)

test.each([
  ['MySQL', mysql.tables()],
  ['SQLite', sqlite.tables()],
])('for each setting, the tables of %s have a column, with a default if the setting has one', (_, tables) => {
  for (const [table, names] of [
    [tables.periodicTask, SETTING_NAMES],
    [tables.job, JOB_SETTING_NAMES],
  ] as const) {
    const columns = Object.values(getTableColumns(table))
    for (const name of names) {
      const setting = settingOf(name)
      const column = columns.find((one) => one.name === setting.column)
      expect(column, name).toMatchObject({
        notNull: setting.default !== null,
        hasDefault: setting.default !== null && setting.default !== undefined,
      })
    }
  }
})

test('SQLite has a CHECK for each setting that is not an instant', () => {
  for (const [table, names] of [
    ['periodic_task', SETTING_NAMES],
    ['job', JOB_SETTING_NAMES],
  ] as const) {
    const checked = columnsOf(names.filter((name) => settingOf(name).kind !== 'instant'))
    expect(PARTS.sqlite).toEqual(
      expect.arrayContaining(checked.map((column) => `check {prefix}${table}_${column}`)),
    )
  }
})

test('the REST API accepts and returns each setting', () => {
  expect(keysOf(bodies.ScheduleInput)).toEqual(expect.arrayContaining(SETTING_NAMES))
  expect(keysOf(bodies.ScheduleChanges)).toEqual([...SETTING_NAMES, 'zone'])
  expect(keysOf(answers.Schedule)).toEqual(expect.arrayContaining(SETTING_NAMES))
  expect(keysOf(bodies.NewJob)).toEqual(expect.arrayContaining(JOB_SETTING_NAMES))
  expect(keysOf(answers.Job)).toEqual(expect.arrayContaining(JOB_SETTING_NAMES))
})

test('the command line has a flag for each setting except enabled', () => {
  const settings = SETTING_NAMES.filter((name) => name !== 'enabled')
  const namesOf = (command: ReturnType<typeof addCommand>) =>
    command.options.map((option) => option.attributeName())
  expect(namesOf(addCommand())).toEqual(expect.arrayContaining(settings))
  expect(namesOf(editCommand())).toEqual(expect.arrayContaining(settings))
  expect(namesOf(submitCommand())).toEqual(expect.arrayContaining(['args', ...JOB_OPTION_NAMES]))
})

/** Two values, the first of which is not the default. */
function examples(setting: Setting): readonly [unknown, unknown] {
  switch (setting.kind) {
    case 'text':
      return ['one', 'two']
    case 'whole':
    case 'span':
      return [setting.most, setting.least === setting.default ? setting.least + 1 : setting.least]
    case 'choice': {
      const others = Object.keys(setting.values).filter((value) => value !== setting.default)
      return [others[0], others.at(-1)]
    }
    case 'instant':
      // The timer elapses between the start and the end.
      return setting.column === 'ends'
        ? [new Date('2300-01-01T00:00:00Z'), new Date('2400-01-01T00:00:00Z')]
        : [new Date('2100-01-01T00:00:00Z'), new Date('2200-01-01T00:00:00Z')]
    case 'flag':
      return [!setting.default, setting.default]
    case 'json':
      return [{ n: 1 }, { n: 2 }]
    default:
      return setting satisfies never
  }
}

const valuesOf = (names: readonly SettingName[], which: 0 | 1) =>
  Object.fromEntries(names.map((name) => [name, examples(settingOf(name))[which]]))

eachDatabase(({ fresh }) => {
  const plain = task('plain')
  const names = [...OPTION_NAMES, 'args' as const]

  describe('a row of settings', () => {
    it('`create`, `put` and `update` store every setting of a schedule', async () => {
      const database = await fresh()
      await using kalends = await Kalends.open(database.url)
      const first = valuesOf(names, 0)
      const second = valuesOf(names, 1)
      const { schedules } = kalends
      await schedules.create({ id: 'created', task: plain, timer: 'daily', ...first })
      expect(await schedules.get('created')).toMatchObject(first)
      await schedules.update('created', { ...second })
      expect(await schedules.get('created')).toMatchObject(second)
      await schedules.put('put', { task: plain, timer: 'daily', ...first })
      expect(await schedules.get('put')).toMatchObject(first)
      expect((await schedules.list()).items[0]).toMatchObject(second)
    })

    it('a job keeps each setting', async () => {
      const database = await fresh()
      await using kalends = await Kalends.open(database.url)
      const { args, ...given } = valuesOf([...JOB_OPTION_NAMES, 'args'], 0)
      const id = await kalends.jobs.submit('plain', args, given)
      expect(await kalends.jobs.get(id)).toMatchObject(valuesOf([...JOB_OPTION_NAMES, 'args'], 0))
    })

    it('a row inserted without a setting has its default', async () => {
      const database = await fresh()
      await using kalends = await Kalends.open(database.url)
      await database.query("INSERT INTO periodic_task (id, task, timer) VALUES ('row', 'plain', 'daily')")
      const written = await kalends.schedules.create({ id: 'code', task: plain, timer: 'daily' })
      const ofRow = await kalends.schedules.get('row')
      for (const name of OPTION_NAMES) {
        expect(ofRow, name).toHaveProperty(name, settingOf(name).default)
        expect(written, name).toHaveProperty(name, settingOf(name).default)
      }
    })
  })
})
