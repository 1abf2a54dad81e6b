import { expect, test } from 'vitest'
import { taskOf } from '../../src/model/caller.ts'
import { task } from '../../src/model/task.ts'

const report = task('report')
const taskNamed = (name: string) => (name === 'report' ? report : null)

test('a task can be given as an object or by name, even if this process does not know the task', () => {
  const other = task('other')
  expect(taskOf(other, { taskNamed })).toEqual(other)
  expect(taskOf('report', { taskNamed })).toBe(report)
  expect(taskOf('elsewhere', { taskNamed })).toEqual({ name: 'elsewhere', schema: null })
})

test.each([
  [null, 'null'],
  [undefined, 'undefined'],
  [7, '7'],
  [() => report, 'function'],
  [{ name: 'report' }, '{"name":"report"}'],
  [{ schema: null }, '{"schema":null}'],
  [Object.assign(() => 1, { schema: null }), 'function'],
])('%o is not a task', (given, shown) => {
  expect(() => taskOf(given, { taskNamed })).toThrow(
    expect.objectContaining({
      code: 'KALENDS_INVALID_INPUT',
      field: 'task',
      message: `task: must be a task or its name, got ${shown}`,
    }),
  )
})
