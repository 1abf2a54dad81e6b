import { describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { InvalidInputError } from '../../src/errors.ts'
import { jsonText } from '../../src/model/json-text.ts'
import {
  checkResult,
  isBuiltIn,
  isBuiltInTask,
  readArgs,
  runPolicy,
  storedArgs,
  task,
} from '../../src/model/task.ts'

function problem(act: () => unknown): Error {
  try {
    act()
  } catch (error) {
    if (error instanceof Error) return error
  }
  throw new Error('nothing was refused')
}

describe('a task', () => {
  test('has a name, and defaults for its runs', () => {
    expect(task('cleanup')).toEqual({
      name: 'cleanup',
      schema: null,
      resultSchema: null,
      policy: { timeout: 600_000, retries: 3, retryDelay: null, retryBackoff: 'exponential' },
      concurrency: null,
    })
  })

  test('accepts time spans or milliseconds', () => {
    const { policy } = task('cleanup', {
      timeout: '1h 30min',
      retryDelay: 1500,
      retries: 0,
      retryBackoff: 'fixed',
    })
    expect(policy).toEqual({ timeout: 5_400_000, retries: 0, retryDelay: 1500, retryBackoff: 'fixed' })
  })

  test('has an integer concurrency between 1 and 10,000, if limited', () => {
    expect(task('cleanup', { concurrency: 1 }).concurrency).toBe(1)
    for (const concurrency of [0, 1.5, 10_001])
      expect(() => task('cleanup', { concurrency })).toThrow(
        expect.objectContaining({ field: 'concurrency' }),
      )
  })

  test.each(['', '  ', 'x'.repeat(255)])('cannot be named %j', (name) => {
    expect(() => task(name)).toThrow(
      expect.objectContaining({ code: 'KALENDS_INVALID_INPUT', field: 'task' }),
    )
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
    ['retries', { retries: 1.5 }, "retries: must be an integer between 0 and 1000 or 'unlimited', got 1.5"],
    ['retries', { retries: -1 }, 'retries: '],
    ['retryBackoff', { retryBackoff: 'never' }, "retryBackoff: must be one of 'exponential', 'fixed'"],
  ])('the error names the invalid option: %s %j', (field, options, message) => {
    // @ts-expect-error -- plain JavaScript may pass this
    const refused = problem(() => runPolicy(options))
    expect(refused).toMatchObject({ code: 'KALENDS_INVALID_INPUT', field })
    expect(refused.message).toContain(message)
  })
})

describe('args', () => {
  const schema = z.object({ days: z.number().int().min(1), since: z.coerce.date().optional() })
  const cleanup = task('cleanup', { args: schema })

  test('are stored unchanged and parsed by the schema when they are read', async () => {
    const stored = await storedArgs(cleanup, { days: 30, since: '2026-03-27' })
    expect(stored).toBe('{"days":30,"since":"2026-03-27"}')
    expect(await readArgs(cleanup, stored)).toEqual({ days: 30, since: new Date('2026-03-27') })
  })

  test('are an empty object by default', async () => {
    expect(await storedArgs(task('cleanup'), undefined)).toBe('{}')
  })

  test('are rejected if they do not match the schema, with an error that lists every issue with its path', async () => {
    const refused = storedArgs(cleanup, { days: 0.5, since: 'soon' })
    await expect(refused).rejects.toThrow(
      /^args: does not match the args of the task 'cleanup': days: .*; since: /,
    )
    await expect(refused).rejects.toMatchObject({ code: 'KALENDS_INVALID_INPUT', field: 'args' })
  })

  test('are rejected if they exceed the limit in bytes', async () => {
    expect(await storedArgs(task('any'), { a: 1 }, 7)).toBe('{"a":1}')
    await expect(storedArgs(task('any'), { a: 10 }, 7)).rejects.toThrow(
      '8 bytes of JSON exceed the limit of 7',
    )
  })

  test('are rejected if they cannot be written as JSON', async () => {
    const cycle: { self?: unknown } = {}
    cycle.self = cycle
    await expect(storedArgs(task('any'), cycle)).rejects.toThrow('args: cannot be written as JSON')
    await expect(storedArgs(task('any'), cycle)).rejects.toHaveProperty('cause', expect.any(TypeError))
    await expect(storedArgs(task('any'), () => 1)).rejects.toThrow(
      'a value of type function cannot be written as JSON',
    )
    for (const args of [{ count: 1n }, Symbol('s')])
      await expect(storedArgs(task('any'), args)).rejects.toThrow(InvalidInputError)
  })

  test('are validated again when a job runs, because the row may have been written manually', async () => {
    await expect(readArgs(cleanup, '{"days":"30"}')).rejects.toThrow('days: ')
  })

  test('are passed on unchanged if the task has no schema', async () => {
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

describe('JSON to store', () => {
  const nested = (levels: number): unknown =>
    levels === 0 ? 1 : levels % 2 === 0 ? [nested(levels - 1)] : { a: nested(levels - 1) }

  test('can have as many bytes as the limit allows, but no more', () => {
    expect(jsonText('args', 'ä', { limit: 4 })).toBe('"ä"')
    expect(() => jsonText('args', 'ä', { limit: 3 })).toThrow(/^args: 4 bytes of JSON exceed the limit of 3/)
    expect(jsonText('args', 'x'.repeat(1_000_000))).toHaveLength(1_000_002)
  })

  test('can have at most 31 levels of nesting, which every database accepts; brackets in strings do not count', () => {
    expect(jsonText('args', nested(31))).toContain('1')
    expect(() => jsonText('args', nested(32))).toThrow('args: must have at most 31 levels of nesting, got 32')
    expect(jsonText('args', `${'['.repeat(40)}"${'{'.repeat(40)}\\`)).toContain('[')
    expect(
      jsonText(
        'args',
        Array.from({ length: 40 }, () => [{}]),
      ),
    ).toContain('[{}]')
  })

  test.each([
    ['"\\ud83d"', '\ud83d'],
    ['{"\\udead":1}', { '\udead': 1 }],
    ['"a\\"\\udead"', 'a"\udead'],
  ])('has no lone surrogate: %s', (_, value) => {
    expect(() => jsonText('args', value)).toThrow(/^args: .*lone surrogate \\ud(ea|83)d, which/)
  })

  test('can contain surrogate pairs and strings that only look like a lone surrogate', () => {
    for (const value of [String.raw`\ud83d`, '🙂', 'a"b\\', '\ud83d\ude42'])
      expect(JSON.parse(jsonText('args', value))).toBe(value)
  })

  test('lone surrogates are replaced if the caller asks for it, so that a result does not make a finished run fail', () => {
    const stored = jsonText('result', ['\ud83da', 'b\udead\udead', 'c'], { loneSurrogates: 'replace' })
    expect(JSON.parse(stored)).toEqual(['\ufffda', 'b\ufffd\ufffd', 'c'])
  })
})

describe('a value that JSON would change', () => {
  class Point {
    readonly x = 1
  }
  const hole: unknown[] = []
  hole[1] = 'a'
  const throwing = Object.defineProperty({}, Symbol.toStringTag, {
    get() {
      throw new Error('no tag')
    },
  })

  test.each<[path: string, what: string, value: unknown]>([
    [
      'args.at',
      'this Date into what its method toJSON returns; pass date.toISOString()',
      { at: new Date(0) },
    ],
    ['args.a.1', 'this Map into a plain object; pass Object.fromEntries(map)', { a: [1, new Map()] }],
    ['args.a', 'this Set into a plain object; pass [...set]', { a: new Set([1]) }],
    ['args', 'this Uint8Array into a plain object; pass text', new Uint8Array(2)],
    ['args', 'this Uint8Array into what its method toJSON returns; pass text', Buffer.from('a')],
    ['args.a', 'this Float64Array into a plain object', { a: new Float64Array(1) }],
    ['args', 'this Error into a plain object; pass a plain value', new Error('e')],
    ['args', 'this RegExp into a plain object', /a/],
    ['args', 'this Promise into a plain object', Promise.resolve()],
    ['args', 'this String into a plain object', Object('a')],
    ['args.url', 'this URL into what its method toJSON returns; pass url.href', { url: new URL('a:b') }],
    ['args', 'this object into what its method toJSON returns', { toJSON: () => 1 }],
    ['args.a.b', 'NaN into null; pass null or a string', { a: { b: Number.NaN } }],
    ['args.0', '-Infinity into null', [-Infinity]],
    ['args.1', 'undefined in a list into null; pass null, or leave it out', [1, undefined]],
    ['args.0', 'undefined in a list into null', hole],
    ['args.a', 'has no value for a function; leave it out', { a: () => 1 }],
    ['args.0', 'has no value for a symbol', [Symbol('a')]],
  ])('is refused as %s: JSON turns %s', (path, what, value) => {
    expect(() => jsonText('args', value)).toThrow(
      `${path}: JSON ${what.startsWith('has') ? '' : 'turns '}${what}`,
    )
  })

  test('is reported instead if the caller asks for it', () => {
    const onConverted = vi.fn<(path: string, what: string) => void>()
    expect(jsonText('result', { a: [new Date(0)] }, { onConverted })).toBe(
      '{"a":["1970-01-01T00:00:00.000Z"]}',
    )
    expect(onConverted.mock.calls).toEqual([
      ['result.a.0', 'JSON turns this Date into what its method toJSON returns'],
    ])
  })

  test('does not include objects of a class, undefined properties, or objects that cannot be examined', () => {
    for (const value of [new Point(), { a: undefined }, Object.create(null), throwing, -0, null])
      expect(() => jsonText('args', value)).not.toThrow()
  })
})

describe('a result', () => {
  const total = task('total', { result: z.object({ total: z.number() }) })

  test('must match the declared result of the task', async () => {
    await checkResult(total, { total: 5 })
    await expect(checkResult(total, { total: '5' })).rejects.toThrow(
      /^result: does not match the result of the task 'total': total: /,
    )
  })

  test('can be anything if the task declares no result', async () => {
    await checkResult(task('any'), undefined)
  })
})

test('only tasks with the prefix `kalends.` are handled by Kalends itself', () => {
  expect(['kalends.retention', 'command', 'my.kalends.', 'kalends'].filter(isBuiltIn)).toEqual([
    'kalends.retention',
  ])
})
