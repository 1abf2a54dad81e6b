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
    ['args.a', 'text', 'text'],
  ])('%s', (path, args, shown) => {
    expect(new Redaction([path]).redacted('args', args)).toEqual(shown)
  })

  test('is hidden everywhere else in the same value, too', () => {
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

  test.each(['password', 'args.', 'args..a', '', 'args.a.', 'argsx'])('%j is not a valid path', (path) => {
    expect(() => new Redaction([path])).toThrow(
      "redact: paths begin with args, result, progress, such as 'args.password'",
    )
  })
})

describe('in texts of the job', () => {
  const redaction = new Redaction(['args.secret', 'result.token'])

  test.each([
    ['unchanged', 'pass word/1', 'no: pass word/1!', 'no: [redacted]!'],
    ['in JSON', 'a"b\\c\nd', String.raw`{"s":"a\"b\\c\nd"}`, '{"s":"[redacted]"}'],
    ['in a URL', 'p@ss/word', 'https://u:p%40ss%2Fword@h', 'https://u:[redacted]@h'],
    ['in a form', 'pass word', 'p=pass+word&x', 'p=[redacted]&x'],
    ['as a number', 424242, 'card 424242', 'card [redacted]'],
    ['trimmed', ' hunter2\n', 'is hunter2.', 'is [redacted].'],
    ['more than once', 'hunter2', 'hunter2hunter2 hunter2', '[redacted][redacted] [redacted]'],
    ['when another begins with the same text', ['abcd', 'abcdef'], 'abcdef abcde', '[redacted] [redacted]e'],
    ['below an object', { a: ['deep-secret'] }, 'deep-secret', '[redacted]'],
    ['but not text that is too short', 'abc', 'abc', 'abc'],
    ['cut off after its first 64 characters', 'x'.repeat(200), `${'x'.repeat(70)}...`, '[redacted]...'],
    ['but not a short prefix of it', 'x'.repeat(200), `${'x'.repeat(60)}...`, `${'x'.repeat(60)}...`],
  ])('%s', (_name, secret, text, shown) => {
    expect(hidden(redaction, { secret }, text)).toBe(shown)
  })

  test('secrets of the result are hidden as well', () => {
    const secrets = redaction.secretsOf({ args: { secret: 'one-secret' }, result: { token: 'two-secret' } })
    expect(secrets.hiddenInText('one-secret two-secret')).toBe('[redacted] [redacted]')
    expect(secrets.hiddenIn({ a: ['one-secret'], n: 1, at: null })).toEqual({
      a: ['[redacted]'],
      n: 1,
      at: null,
    })
  })

  test('with too many secrets to search for, all text is hidden', () => {
    expect(hidden(redaction, { secret: 'x'.repeat(70_000) }, 'harmless')).toBe('[redacted]')
  })

  test('without paths everything is shown', () => {
    expect(hidden(new Redaction([]), { secret: 'hunter2' }, 'hunter2')).toBe('hunter2')
  })
})

describe('a value that is sent back as it was shown', () => {
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

  test('has no effect if nothing is stored', () => {
    for (const input of [{ password: '[redacted]' }, { users: [{ key: '[redacted]' }] }])
      expect(() => redaction.restored('args', input, undefined)).toThrow(
        'stands for a value that is not stored',
      )
  })
})
