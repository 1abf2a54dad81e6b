/** Input checks: accepted values, rejected values, and errors that name the field and show the input. */
import { describe, expect, it, test } from 'vitest'
import {
  checkedConditions,
  checkedFunction,
  checkedInstant,
  checkedName,
  checkedLimit,
  checkedWhole,
  isName,
  isStorable,
  oneOf,
  shownInput,
  spanOption,
} from '../../src/model/input.ts'
import { isUpTo } from '../../src/model/settings.ts'

const ofField = (field: string, ...parts: string[]) => {
  const messages = [`${field}: `, ...parts].map((part) => expect.stringContaining(part))
  return messages.map((message) => expect.objectContaining({ code: 'KALENDS_INVALID_INPUT', field, message }))
}

function refused(act: () => unknown, field: string, ...parts: string[]): void {
  for (const error of ofField(field, ...parts)) expect(act).toThrow(error)
}

describe('rejected input in messages', () => {
  test.each([
    ['a\n"b"', String.raw`"a\n\"b\""`],
    [undefined, 'undefined'],
    [() => 1, 'function'],
    [Symbol('s'), 'symbol'],
    ['x'.repeat(198), `"${'x'.repeat(198)}"`],
    ['x'.repeat(199), `"${'x'.repeat(196)}...`],
  ])('%# is escaped and at most 200 characters long', (value, text) => {
    expect(shownInput(value)).toBe(text)
  })
})

test.each([
  ['', true],
  ['a\n\t🙂', true],
  ['a\0b', false],
  ['half \ud83d', false],
])('every database stores %j unchanged: %s', (text, expected) => {
  expect(isStorable(text)).toBe(expected)
})

test.each([
  ['', true],
  ['abc', true],
  ['abcd', false],
  ['👍👍👍', true],
  ['a👍b', true],
  ['👍👍👍👍', false],
  // To a database, a letter and its combining accent are two characters.
  ['e\u0301e\u0301', false],
])('%j has at most three characters, as databases count them: %s', (text, expected) => {
  expect(isUpTo(text, 3)).toBe(expected)
})

describe('a name', () => {
  test.each(['a', 'a b', 'ä🙂', 'x'.repeat(10), '🙂'.repeat(10)])('may be %j', (name) => {
    expect(isName(name, 10)).toBe(true)
    expect(checkedName('task', name, 10)).toBe(name)
  })

  test.each([
    '',
    ' a',
    'a ',
    'x'.repeat(11),
    '🙂'.repeat(11),
    'half \ud83d',
    'a\tb',
    'a\u007fb',
    null,
    5,
    ['a'],
    ['a\u200b'],
    { length: 1 },
  ])('may not be %j', (name) => {
    expect(isName(name, 10)).toBe(false)
    refused(() => checkedName('task', name, 10), 'task', '1 to 10 characters', shownInput(name))
  })

  test.each([
    ['a\u200bb', 'U+200B'],
    ['a\u00adb', 'U+00AD'],
    ['a\u2028b', 'U+2028'],
    ['a\ufffbb', 'U+FFFB'],
    ['a\u{e0041}b', 'U+E0041'],
  ])('must not contain the invisible character in %j, which the error names', (name, codePoint) => {
    expect(isName(name, 10)).toBe(false)
    refused(() => checkedName('task', name, 10), 'task', 'invisible', shownInput(name), codePoint)
  })
})

describe('an integer', () => {
  test.each([2, 3, 5, undefined])('from 2 to 5 may be %s', (value) => {
    expect(checkedWhole('retries', value, 2, 5)).toBe(value)
  })

  test.each([1, 6, 2.5, Number.NaN, '3', null])('from 2 to 5 must not be %j', (value) => {
    refused(
      () => checkedWhole('retries', value, 2, 5),
      'retries',
      'between 2 and 5',
      Number.isNaN(value) ? 'NaN' : JSON.stringify(value),
    )
  })
})

describe('an option that is a time span', () => {
  const limits = { least: 1000, most: 60_000 }

  test.each([
    [undefined, 7],
    [1000, 1000],
    ['1s', 1000],
    ['1min', 60_000],
  ])('%j is %s ms', (value, milliseconds) => {
    expect(spanOption('timeout', value, 7, limits)).toBe(milliseconds)
  })

  test.each([
    [999, "'999' is not between 1000 and 60000 ms"],
    ['61s', "'61s' is not between 1000 and 60000 ms"],
    ['1 parsec', 'parsec'],
    [null, 'got null'],
    [{}, 'got {}'],
  ])('may not be %j', (value, why) => {
    refused(() => spanOption('timeout', value, 7, limits), 'timeout', why)
  })

  it('is rejected if it is invalid, with the InvalidTimeSpanError as the cause', () => {
    expect(() => spanOption('timeout', '1 parsec', 7, limits)).toThrow(
      expect.objectContaining({ cause: expect.objectContaining({ name: 'InvalidTimeSpanError' }) }),
    )
  })
})

test('a value that is not one of the allowed values is rejected with an error that lists them', () => {
  const values = ['skip', 'allow'] as const
  expect(oneOf('overlap', 'allow', values)).toBe('allow')
  expect(oneOf('overlap', undefined, values)).toBeUndefined()
  for (const wrong of ['Skip', '', null, 0])
    refused(
      () => oneOf('overlap', wrong, values),
      'overlap',
      "'skip', 'allow'",
      `got ${JSON.stringify(wrong)}`,
    )
})

describe('an instant', () => {
  test.each([new Date(0), new Date('9999-12-31T23:59:59.999Z'), null, undefined])('may be %s', (instant) => {
    expect(checkedInstant('starts', instant)).toBe(instant)
  })

  test.each([
    [new Date(-1), 'got 1969-12-31T23:59:59.999Z'],
    [new Date('+010000-01-01T00:00:00Z'), 'got +010000-01-01T00:00:00.000Z'],
    [new Date(Number.NaN), 'got Invalid Date'],
    ['2026-01-01', 'got "2026-01-01"'],
    [0, 'got 0'],
  ])('may not be %s', (value, shown) => {
    refused(() => checkedInstant('starts', value), 'starts', shown)
  })
})

describe('the conditions of a filter', () => {
  const known = { task: { kind: 'text' }, before: { kind: 'instant' } } as const
  const check = (conditions: object) => checkedConditions('filter.', conditions, known)

  test.each([{}, { task: '' }, { task: 'a', before: new Date(0) }, { task: undefined, before: undefined }])(
    'may be %j',
    (conditions) => {
      check(conditions)
    },
  )

  it('unknown conditions are rejected, because a filter that ignored them would match too much', () => {
    refused(() => check({ tusk: 'a' }), 'filter.tusk', 'did you mean filter.task?')
    refused(() => check({ constructor: 'a' }), 'filter.constructor')
    refused(() => check({ tusk: undefined }), 'filter.tusk')
  })

  it('conditions of the wrong type are rejected, because they would match nothing or everything', () => {
    refused(() => check({ task: null }), 'filter.task', 'must be a string, got null')
    refused(() => check({ task: new Date(0) }), 'filter.task', 'must be a string')
    refused(() => check({ before: null }), 'filter.before', 'must be a valid Date, got null')
    refused(() => check({ before: 'yesterday' }), 'filter.before', 'must be a valid Date, got "yesterday"')
  })
})

describe('the limit of a list', () => {
  it('is a hundred by default and a thousand at most', () => {
    expect(checkedLimit(undefined)).toBe(100)
    expect(checkedLimit(undefined, 5)).toBe(5)
    for (const limit of [1, 1000]) expect(checkedLimit(limit)).toBe(limit)
    for (const limit of [0, 1001]) refused(() => checkedLimit(limit), 'limit')
  })
})

test('the message about a number names what else is allowed', () => {
  refused(() => checkedWhole('retries', 'x', 0, 9), 'retries', 'must be an integer between 0 and 9, got "x"')
  refused(
    () => checkedWhole('retries', 'x', 0, 9, 'the default', true),
    'retries',
    `must be an integer between 0 and 9 or 'unlimited', or null (the default), got "x"`,
  )
  expect(checkedWhole('retries', 'unlimited', 0, 9, 'the default', true)).toBe('unlimited')
  refused(() => checkedWhole('retries', 'unlimited', 0, 9), 'retries', 'must be an integer')
})

test('a callback must be a function', () => {
  const call = () => 1
  expect(checkedFunction('onError', call)).toBe(call)
  refused(() => checkedFunction('onError', 'log'), 'onError', 'must be a function, got "log"')
})
