/** Each thing has one column name in docs/tables.md, and one field name in JavaScript, the API and drizzle. */
import { readFileSync } from 'node:fs'
import { getTableColumns } from 'drizzle-orm'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import * as mysql from '../../src/drizzle/mysql.ts'
import * as sqlite from '../../src/drizzle/sqlite.ts'
import * as answers from '../../src/http/answer-schemas.ts'
import { Kalends } from '../../src/index.ts'

const TEXT = readFileSync('docs/tables.md', 'utf8')
/** Fields that contain only part of their column's value. */
const PARTLY = ['waitingFor']

/** The columns in a section of the page, each with its field, or null if it has none. */
function documented(heading: string): Map<string, string | null> {
  const start = TEXT.indexOf(`\n## ${heading}`)
  const section = TEXT.slice(start, TEXT.indexOf('\n## ', start + 1))
  const names = (cell = '') => Array.from(cell.matchAll(/`(\w+)`/gu), ([, name = '']) => name)
  const rows = section.split('\n').filter((line) => line.startsWith('| `'))
  return new Map(
    rows.flatMap((row) => {
      const [, columns, fields] = row.split('|')
      return names(columns).map((column, index) => [column, names(fields)[index] ?? null] as const)
    }),
  )
}

/** The fields that are always present; optional ones are computed. */
const fieldsOf = ({ shape }: z.ZodObject) =>
  Object.entries(shape)
    .filter(([, field]) => !(field instanceof z.ZodOptional))
    .map(([name]) => name)
    .toSorted()

const TABLES = [
  ['periodic_task', documented('periodic_task'), 'periodicTask', answers.Schedule],
  ['job', documented('job: a run'), 'job', answers.Job],
] as const

test.each(TABLES)('docs/tables.md lists each column of %s and its field', (_, columns, table, schema) => {
  for (const tables of [mysql.tables(), sqlite.tables()]) {
    const properties = Object.entries(getTableColumns<(typeof tables)['job' | 'periodicTask']>(tables[table]))
    expect(new Set(properties.map(([, { name }]) => name))).toEqual(new Set(columns.keys()))
    for (const [property, { name }] of properties) {
      const field = columns.get(name) ?? property
      if (!PARTLY.includes(field)) expect(`${name}: ${property}`).toBe(`${name}: ${field}`)
    }
  }
  const fields = [...columns.values()].filter((field) => field !== null)
  expect(fields.toSorted()).toEqual(fieldsOf(schema))
})

test('JavaScript and the API have the same fields', async () => {
  const kalends = await Kalends.open('sqlite::memory:')
  onTestFinished(() => kalends.stop())
  const schedule = await kalends.schedules.create({ task: 'mail', timer: 'daily' })
  expect(Object.keys(schedule).toSorted()).toEqual(fieldsOf(answers.Schedule))
  const job = await kalends.jobs.cancel(await kalends.jobs.submit('mail'))
  expect(Object.keys(job).toSorted()).toEqual(fieldsOf(answers.Job))
})

/** Points in a calendar or a range, not times of events. */
const POINTS = [
  'until',
  'frozenUntil',
  'slot',
  'lastSlot',
  'starts',
  'ends',
  'from',
  'to',
  'hour',
  'at',
  'now',
  'busySince',
]

test('fields for the time of an event end in At, and fields for the id of another row end in Id', () => {
  const found = { instants: new Set<string>(), others: new Set<string>() }
  const collect = (name: string, schema: z.core.JSONSchema._JSONSchema) => {
    if (typeof schema !== 'object') return
    if (schema.format === 'date-time') found.instants.add(name)
    else found.others.add(name)
    for (const part of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) collect(name, part)
    for (const [key, property] of Object.entries(schema.properties ?? {})) collect(key, property)
    if (typeof schema.items === 'object' && !Array.isArray(schema.items)) collect(name, schema.items)
  }
  for (const [name, schema] of Object.entries(answers))
    collect(name, z.toJSONSchema(schema, { unrepresentable: 'any' }))
  const instants = [...found.instants].filter((name) => !POINTS.includes(name))
  expect(instants.length).toBeGreaterThan(10)
  expect(instants.filter((name) => !name.endsWith('At'))).toEqual([])
  expect([...found.others].filter((name) => ['job', 'schedule'].includes(name))).toEqual([])
})
