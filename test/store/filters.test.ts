/** Every defined filter reaches the statements, whatever other filters it is combined with. */
import { expect, test } from 'vitest'
import { type Filter, JOB_FILTERS, SCHEDULE_FILTERS } from '../../src/model/filters.ts'
import { ANY_OWNER } from '../../src/model/owner.ts'
import type { Context } from '../../src/store/sql/context.ts'
import { jobRange, scheduleRange } from '../../src/store/sql/lists/list-ranges.ts'
import { tables } from '../../src/store/sql/tables.ts'
import { sqliteDialect } from '../../src/store/sqlite/dialect.ts'

const dialect = sqliteDialect(null)

function unused(): never {
  throw new Error('no statement runs')
}
const context: Context = {
  dialect,
  tables: tables('', dialect),
  select: unused,
  current: '',
  locking: '',
  rows: unused,
  run: unused,
}

function valueOf(filter: Filter): unknown {
  if (filter.kind === 'instant') return new Date(0)
  return filter.kind === 'word' ? filter.values[0] : 'value'
}

for (const [what, filters, rangeOf] of [
  ['jobs', JOB_FILTERS, jobRange],
  ['schedules', SCHEDULE_FILTERS, scheduleRange],
] as const) {
  const given = Object.entries(filters).map(([name, filter]) => [name, valueOf(filter)] as const)
  const conditions = (names: readonly (readonly [string, unknown])[]) => {
    const { where, filter, anyOf } = rangeOf(context, ANY_OWNER, Object.fromEntries(names))
    return [where, filter, ...(anyOf ?? [])].map(({ text, params }) => [text, params])
  }

  test.each(given)(`the filter '%s' of ${what} limits the rows, alone and with all others`, (name, value) => {
    expect(conditions([[name, value]])).not.toEqual(conditions([]))
    expect(conditions(given)).not.toEqual(conditions(given.filter(([other]) => other !== name)))
  })
}
