import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { InvalidInputError } from '../../src/errors.ts'
import { isBuiltInTask, readArgs, runPolicy, storedArgs, task } from '../../src/model/task.ts'

function problem(act: () => unknown): Error {
  try {
    act()
  } catch (error) {
    if (error instanceof Error) return error
  }
  throw new Error('nothing was refused')
}

describe('a task', () => {
  test('is a name and the defaults of its runs', () => {
    expect(task('cleanup')).toEqual({
      name: 'cleanup',
      schema: null,
      resultSchema: null,
      policy: { timeoutMs: 600_000, maxRetries: 3, retryDelayMs: null, retryBackoff: 'exponential' },
      concurrency: null,
    })
  })

  test('takes time spans or milliseconds', () => {
    const { policy } = task('cleanup', {
      timeout: '1h 30min',
      retryDelay: 1500,
      retries: 0,
      retryBackoff: 'fixed',
    })
    expect(policy).toEqual({ timeoutMs: 5_400_000, maxRetries: 0, retryDelayMs: 1500, retryBackoff: 'fixed' })
  })

  test.each(['', '  ', 'x'.repeat(191)])('cannot be named %j', (name) => {
    expect(() => task(name)).toThrow(InvalidInputError)
  })

  test.each([
    [
      'timeout',
      { timeout: '10 parsecs' },
      "timeout: The time span '10 parsecs' has the unknown unit 'parsecs'",
    ],
    ['timeout', { timeout: 0 }, 'timeout: '],
    ['timeout', { timeout: '25d' }, 'timeout: '],
    ['retryDelay', { retryDelay: -1 }, 'retryDelay: '],
    ['retries', { retries: 1.5 }, 'retries: a whole number from 0 to 1000 is needed, not 1.5'],
    ['retries', { retries: -1 }, 'retries: '],
  ])('names the invalid option: %s %j', (field, options, message) => {
    const refused = problem(() => runPolicy(options))
    expect(refused).toMatchObject({ code: 'INVALID_INPUT', field })
    expect(refused.message).toContain(message)
  })
})

describe('args', () => {
  const schema = z.object({ days: z.number().int().min(1), since: z.coerce.date().optional() })
  const cleanup = task('cleanup', { args: schema })

  test('are stored as they were passed, and read back as the schema parses them', async () => {
    const stored = await storedArgs(cleanup, { days: 30, since: '2026-03-27' })
    expect(stored).toBe('{"days":30,"since":"2026-03-27"}')
    expect(await readArgs(cleanup, stored)).toEqual({ days: 30, since: new Date('2026-03-27') })
  })

  test('are an empty object by default', async () => {
    expect(await storedArgs(task('cleanup'), undefined)).toBe('{}')
  })

  test('are rejected with every issue and its path', async () => {
    const refused = storedArgs(cleanup, { days: 0.5, since: 'soon' })
    await expect(refused).rejects.toThrow(/^args: not what the task 'cleanup' takes: days: .*; since: /)
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_INPUT', field: 'args' })
  })

  test('are rejected if they have no JSON form', async () => {
    const cycle: { self?: unknown } = {}
    cycle.self = cycle
    await expect(storedArgs(task('any'), cycle)).rejects.toThrow('args: cannot be written as JSON')
    await expect(storedArgs(task('any'), () => 1)).rejects.toThrow('a function cannot be written as JSON')
    await expect(storedArgs(task('any'), { count: 1n })).rejects.toThrow(InvalidInputError)
  })

  test('are validated again when a job runs: the row may have been written manually', async () => {
    await expect(readArgs(cleanup, '{"days":"30"}')).rejects.toThrow('days: ')
  })

  test('are passed on unchanged without a schema', async () => {
    expect(await readArgs(task('any'), '{"a":[1,null]}')).toEqual({ a: [1, null] })
  })
})

test.each([
  ['command', true],
  [' command ', true],
  ['kalends.prune', true],
  ['kalends.', true],
  ['\tkalends.anything\n', true],
  ['commands', false],
  ['command.x', false],
  ['kalends', false],
  ['my.kalends.prune', false],
  ['', false],
])('%j is built in: %s', (name, expected) => {
  expect(isBuiltInTask(name)).toBe(expected)
})
