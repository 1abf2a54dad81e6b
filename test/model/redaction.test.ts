import { describe, expect, test } from 'vitest'
import { Redaction } from '../../src/model/redaction.ts'

const hidden = (redaction: Redaction, args: unknown, text: string) =>
  redaction.secretsOf({ args }).hiddenInText(text)

describe('the value at a path', () => {
  test.each([
    ['args.password', { password: 'hunter2', to: 'x' }, { password: '[redacted]', to: 'x' }],
    ['args.users.*.key', { users: [{ key: 'k-one' }] }, { users: [{ key: '[redacted]' }] }],
    [
      'args.users.key',
      { users: [{ key: 'k-one' }, { key: 'k-two' }] },
      { users: [{ key: '[redacted]' }, { key: '[redacted]' }] },
    ],
    [
      'args.users.1.key',
      { users: [{ key: 'one' }, { key: 'two' }] },
      { users: [{ key: 'one' }, { key: '[redacted]' }] },
    ],
    ['args.a.b', { a: [[{ b: 'deep-one' }]] }, { a: [[{ b: '[redacted]' }]] }],
    ['args', ['x'], '[redacted]'],
    ['args.a', { a: null }, { a: null }],
    ['args.a.b', { a: null }, { a: null }],
    // Too short to be redacted elsewhere.
    ['args.users.*.key', { users: [{ key: 'k' }] }, { users: [{ key: '[redacted]' }] }],
    [
      'args.*.pin',
      { a: { pin: 1 }, b: { pin: 2 }, c: 3 },
      { a: { pin: '[redacted]' }, b: { pin: '[redacted]' }, c: 3 },
    ],
    ['args.list.*', { list: ['a', true] }, { list: ['[redacted]', '[redacted]'] }],
    ['args.list.1', { list: ['a', 'b'] }, { list: ['a', '[redacted]'] }],
    ['args', undefined, undefined],
    ['result.token', { token: 'hunter2' }, { token: 'hunter2' }],
    ['args.a', 'text', 'text'],
  ])('%s', (path, args, shown) => {
    expect(new Redaction([path]).redacted('args', args)).toEqual(shown)
  })

  test('the value at a path is also hidden wherever else it occurs in the args', () => {
    const args = { password: 'hunter2', url: 'ftp://me:hunter2@host', list: ['hunter2'], pin: 98765 }
    expect(new Redaction(['args.password', 'args.pin']).redacted('args', { ...args, code: '98765' })).toEqual(
      {
        password: '[redacted]',
        url: 'ftp://me:[redacted]@host',
        list: ['[redacted]'],
        pin: '[redacted]',
        code: '[redacted]',
      },
    )
  })

  test('a path must be a string', () => {
    // @ts-expect-error -- plain JavaScript may pass this
    expect(() => new Redaction([5])).toThrow("such as 'args.password', got 5")
  })

  test.each(['password', 'args.', 'args..a', '', 'args.a.', 'argsx'])('%j is not a valid path', (path) => {
    expect(() => new Redaction([path])).toThrow(
      "redact: each path must begin with one of args, result, progress, such as 'args.password'",
    )
  })
})

describe('a secret in a string of the job is redacted', () => {
  const redaction = new Redaction(['args.secret', 'result.token'])

  test.each([
    ['unchanged', 'pass word/1', 'no: pass word/1!', 'no: [redacted]!'],
    ['in JSON', 'a"b\\c\nd', String.raw`{"s":"a\"b\\c\nd"}`, '{"s":"[redacted]"}'],
    ['in a URL', 'p@ss/word', 'https://u:p%40ss%2Fword@h', 'https://u:[redacted]@h'],
    ['in a form', 'pass word', 'p=pass+word&x', 'p=[redacted]&x'],
    ['as a number', 424242, 'card 424242', 'card [redacted]'],
    ['trimmed', ' hunter2\n', 'is hunter2.', 'is [redacted].'],
    ['more than once', 'hunter2', 'hunter2hunter2 hunter2', '[redacted][redacted] [redacted]'],
    [
      'if another secret has the same beginning',
      ['abcd', 'abcdef'],
      'abcdef abcde',
      '[redacted] [redacted]e',
    ],
    ['below an object', { a: ['deep-secret'] }, 'deep-secret', '[redacted]'],
    ['but not if it is too short', 'abc', 'abc', 'abc'],
    [
      'if it is cut off after more than 64 characters',
      'x'.repeat(200),
      `${'x'.repeat(70)}...`,
      '[redacted]...',
    ],
    [
      'if it is cut off after exactly 64 characters',
      'x'.repeat(200),
      `${'x'.repeat(64)}...`,
      '[redacted]...',
    ],
    ['but not if it is cut off earlier', 'x'.repeat(200), `${'x'.repeat(60)}...`, `${'x'.repeat(60)}...`],
  ])('%s', (_name, secret, text, shown) => {
    expect(hidden(redaction, { secret }, text)).toBe(shown)
  })

  test('values that * matches are secrets', () => {
    expect(hidden(new Redaction(['args.*.key']), { a: { key: 'hunter2' }, b: null }, 'is hunter2')).toBe(
      'is [redacted]',
    )
    expect(
      hidden(new Redaction(['args.list.key']), { list: [{ key: 'hunter2' }], key: 'other' }, 'other hunter2'),
    ).toBe('other [redacted]')
  })

  test('the secrets are those in the value at the time of the call, even if the value changes later', () => {
    const args = { secret: { token: 'hunter2' } }
    const secrets = redaction.secretsOf({ args })
    args.secret.token = 'other'
    expect(secrets.hiddenInText('hunter2 other')).toBe('[redacted] other')
  })

  test('secrets in the result are also hidden', () => {
    const secrets = redaction.secretsOf({ args: { secret: 'one-secret' }, result: { token: 'two-secret' } })
    expect(secrets.hiddenInText('one-secret two-secret')).toBe('[redacted] [redacted]')
    const at = new Date(0)
    expect(secrets.hiddenIn({ a: ['one-secret'], n: 1, yes: true, none: null, at })).toEqual({
      a: ['[redacted]'],
      n: 1,
      yes: true,
      none: null,
      at,
    })
  })

  test('secrets from other values of the job can be added, before and after the first string is redacted', () => {
    const paths = new Redaction(['args.secret', 'progress.token', 'result'])
    const secrets = paths.secretsOf({ args: { secret: 'one-secret' } })
    paths.addSecrets(secrets, { progress: { token: 'two-secret' } })
    const text = 'one-secret two-secret three-secret four-secret'
    expect(secrets.hiddenInText(text)).toBe('[redacted] [redacted] three-secret four-secret')
    paths.addSecrets(secrets, { progress: { token: 'three-secret', note: 'four-secret' } })
    expect(secrets.hiddenInText(text)).toBe('[redacted] [redacted] [redacted] four-secret')
    paths.addSecrets(secrets, { result: ['four-secret'] })
    expect(secrets.hiddenInText(text)).toBe('[redacted] [redacted] [redacted] [redacted]')
  })

  test('the same secret counts once, regardless of how often progress is stored', () => {
    const paths = new Redaction(['progress.token'])
    const secrets = paths.secretsOf({})
    for (let count = 0; count < 10_000; count += 1)
      paths.addSecrets(secrets, { progress: { token: 'the-one-secret' } })
    expect(secrets.hiddenInText('harmless the-one-secret')).toBe('harmless [redacted]')
    for (let count = 0; count < 10_000; count += 1)
      paths.addSecrets(secrets, { progress: { token: `${count}-secret` } })
    expect(secrets.hiddenInText('harmless')).toBe('[redacted]')
  })

  test('property names can be or contain secrets, and stay distinct when they are redacted', () => {
    expect(hidden(redaction, { secret: { 'the-name': { deep: 1 } } }, 'the-name deep')).toBe(
      '[redacted] [redacted]',
    )
    const secrets = redaction.secretsOf({ args: { secret: ['one-secret', 'two-secret', 4711] } })
    expect(
      secrets.hiddenIn({
        'one-secret': { 'a one-secret': 1 },
        '[redacted]': 2,
        'two-secret': 3,
        4711: 4,
        '[redacted] 3': 5,
      }),
    ).toEqual({
      '[redacted] 2': 4,
      '[redacted] 4': { 'a [redacted]': 1 },
      '[redacted]': 2,
      '[redacted] 5': 3,
      '[redacted] 3': 5,
    })
    expect(secrets.hiddenIn(['one-secret'])).toEqual(['[redacted]'])
  })

  test('if the secrets are too long or too many to search for, all text is hidden', () => {
    expect(hidden(redaction, { secret: 'x'.repeat(65_537) }, 'harmless')).toBe('[redacted]')
    expect(hidden(redaction, { secret: 'x'.repeat(65_536) }, 'harmless')).toBe('harmless')
    const many = (count: number) => Array.from({ length: 2 * count }, (_, index) => `pin ${index % count}`)
    expect(hidden(redaction, { secret: many(1001) }, 'harmless')).toBe('[redacted]')
    expect(hidden(redaction, { secret: many(1000) }, 'harmless pin 5 pin%206 pin+7')).toBe(
      'harmless [redacted] [redacted] [redacted]',
    )
  })

  test('a secret with NUL is found in text in which NUL was replaced before the secret was known', () => {
    const secrets = redaction.secretsOf({ args: { secret: 'one\0two' } })
    expect(secrets.hiddenInText('one␀two one\0two one\\u0000two one%00two')).toBe(
      '[redacted] [redacted] [redacted] [redacted]',
    )
  })

  test('without paths, everything is shown', () => {
    expect(hidden(new Redaction([]), { secret: 'hunter2' }, 'hunter2')).toBe('hunter2')
  })
})

describe('in a string that was cut before the secret was known', () => {
  const secrets = new Redaction(['args']).secretsOf({ args: 'hunter2-secret' })
  test.each([
    ['x hunter2-sec… (cut, of 99 bytes)', 'x [redacted]… (cut, of 99 bytes)'],
    ['x hun… (cut, of 99 bytes)', 'x hun… (cut, of 99 bytes)'],
    ['x hunt… (cut, of 99 bytes)', 'x [redacted]… (cut, of 99 bytes)'],
    ['x hunter2-sec', 'x hunter2-sec'],
    ['hunt… (cut, of 1 bytes) hunter2-secret', 'hunt… (cut, of 1 bytes) [redacted]'],
  ])('%s → %s', (text, shown) => {
    expect(secrets.hiddenInText(text)).toBe(shown)
  })
})

describe('a search', () => {
  const redaction = new Redaction(['args.secret', 'result.token'])

  test('is rejected if it could reveal a secret', () => {
    expect(redaction.hides()).toBe(true)
    expect(redaction.hides('args')).toBe(true)
    expect(redaction.hides('result')).toBe(true)
  })

  test('is allowed if nothing is hidden', () => {
    expect(redaction.hides('progress')).toBe(false)
    expect(new Redaction([]).hides()).toBe(false)
  })
})

describe('if a list omits values', () => {
  const redaction = new Redaction(['args.secret'])

  test('that contain secrets, nothing is shown, because the secrets are unknown', () => {
    const secrets = redaction.secretsOf({ truncated: { args: 100_000 } })
    expect(secrets.hiddenInText('harmless')).toBe('[redacted]')
    expect(secrets.hiddenIn({ a: ['harmless', 5], at: null })).toEqual({
      '[redacted]': ['[redacted]', '[redacted]'],
      '[redacted] 2': null,
    })
  })

  test('that contain no secrets, everything else is shown', () => {
    const secrets = redaction.secretsOf({ args: { secret: 'hunter2' }, truncated: { result: 100_000 } })
    expect(secrets.hiddenInText('harmless hunter2')).toBe('harmless [redacted]')
  })
})

describe('a redacted value that is sent back', () => {
  const redaction = new Redaction(['args.password', 'args.users.key'])
  const stored = {
    password: 'hunter2',
    url: 'ftp://hunter2@host',
    users: [{ key: 'k-one' }, { key: 'k-two' }],
  }

  test('becomes the stored value again', () => {
    const shown = redaction.redacted('args', stored)
    expect(redaction.restored('args', shown, stored)).toEqual(stored)
  })

  test('a redacted value becomes the stored value again even if names contain secrets', () => {
    const paths = new Redaction(['args.keys'])
    const value = {
      keys: ['one-secret', 'two-secret', '4711'],
      map: { 'two-secret': { 'one-secret': 'of two-secret' }, 4711: 'a', 'one-secret': 'b', other: 'c' },
    }
    const shown = paths.redacted('args', value)
    expect(JSON.stringify(shown)).not.toMatch(/secret|4711/)
    expect(paths.restored('args', shown, value)).toEqual(value)
    expect(paths.restored('args', { map: { '[redacted]': 'changed' } }, value)).toEqual({
      map: { 4711: 'changed' },
    })
  })

  test('keeps its changes', () => {
    const input = {
      password: 'new-one',
      url: 'ftp://[redacted]@host',
      users: [{ key: '[redacted]', name: 'n' }],
    }
    expect(redaction.restored('args', input, stored)).toEqual({
      password: 'new-one',
      url: 'ftp://hunter2@host',
      users: [{ key: 'k-one', name: 'n' }],
    })
  })

  test('is rejected if nothing is stored', () => {
    for (const input of [{ password: '[redacted]' }, { users: [{ key: '[redacted]' }] }])
      expect(() => redaction.restored('args', input, undefined)).toThrow(
        'stands for a value that is not stored',
      )
  })

  test('the error names the position, even within a list', () => {
    const input = { password: 'new-one', users: [{ key: 'new-key' }, { key: '[redacted]' }] }
    expect(() => redaction.restored('args', input, undefined)).toThrow(
      expect.objectContaining({ field: 'args.users.1.key' }),
    )
  })

  test('an added item must contain its value instead of a marker', () => {
    const input = { users: [{ key: '[redacted]' }, { key: '[redacted]' }, { key: '[redacted]' }] }
    // Without a path, nothing is visited or copied.
    const untouched = new Proxy({}, { get: () => expect.fail(), ownKeys: () => expect.fail() })
    expect(new Redaction(['result.token']).restored('args', untouched, stored)).toBe(untouched)
    expect(() => redaction.restored('args', input, stored)).toThrow(
      expect.objectContaining({ field: 'args.users.2.key' }),
    )
  })

  test('text elsewhere that only looks like a marker is ordinary text', () => {
    expect(redaction.restored('args', { note: '[redacted]', none: null, n: 1 }, stored)).toEqual({
      note: '[redacted]',
      none: null,
      n: 1,
    })
  })

  test('a marker below another key is also ordinary text', () => {
    const input = { other: { password: '[redacted]' }, users: { a: { key: '[redacted]' } } }
    expect(redaction.restored('args', input, stored)).toEqual(input)
  })

  test('an input whose structure differs from that of the stored value is used unchanged', () => {
    for (const input of [{ users: null }, { users: 'none' }, { password: 5 }, null])
      expect(redaction.restored('args', input, stored)).toEqual(input)
    expect(redaction.restored('args', stored, { password: null, users: null })).toEqual(stored)
  })

  test('below *, a marker is rejected if nothing is stored', () => {
    expect(() => new Redaction(['args.*.key']).restored('args', { a: { key: '[redacted]' } }, {})).toThrow(
      expect.objectContaining({ field: 'args.a.key' }),
    )
  })

  test('inherited properties do not count as stored', () => {
    const paths = new Redaction(['args.constructor'])
    expect(() => paths.restored('args', { constructor: '[redacted]' }, {})).toThrow('is not stored')
  })
})

describe('the value to store', () => {
  const redaction = new Redaction(['args.key', 'progress.token'])
  const earlier = redaction.secretsOf({ progress: { token: 'old-secret' } })
  const stored = (value: unknown, args: unknown = {}, secrets = earlier) =>
    redaction.stored('progress', value, () => ({ args, progress: value }), secrets)

  test('contains no secret that was only in earlier progress, because readers of the row could not recognise it', () => {
    expect(stored({ note: 'saw old-secret' })).toEqual({ note: 'saw [redacted]' })
    expect(stored({ token: 'new-secret', note: 'saw old-secret' })).toEqual({
      token: 'new-secret',
      note: 'saw [redacted]',
    })
  })

  test('is unchanged if readers of the row can recognise every secret in it', () => {
    for (const value of [
      { note: 'harmless' },
      { token: 'old-secret' },
      { token: 'old-secret', note: 'old-secret' },
    ])
      expect(stored(value)).toBe(value)
    const value = { note: 'saw old-secret' }
    expect(stored(value, { key: 'old-secret' })).toBe(value)
  })

  test('is unchanged if the earlier secrets are unknown', () => {
    const value = { note: 'saw old-secret' }
    const unknown = redaction.secretsOf({ truncated: { progress: 100_000 } })
    expect(unknown.areKnown()).toBe(false)
    expect(stored(value, {}, unknown)).toBe(value)
  })
})

test('text to store contains no secrets or lone surrogates, and is cut to the limit', () => {
  const secrets = new Redaction(['args']).secretsOf({ args: 'hunter2-secret' })
  expect(secrets.areKnown()).toBe(true)
  expect(secrets.storable('x hunter2-secret \ud83d', 100)).toBe('x [redacted] \ufffd')
  expect(secrets.storable('x'.repeat(100), 50)).toBe(`${'x'.repeat(27)}… (cut, of 100 bytes)`)
})
