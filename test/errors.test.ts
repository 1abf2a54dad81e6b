import { describe, expect, it } from 'vitest'
import { errorText, errorTextForOwner, logTextForOwner } from '../src/errors.ts'

describe('the error text that the owner of a job sees', () => {
  it.each([
    ['Error: quota of 10 exceeded', 'Error: quota of 10 exceeded'],
    ['Error: cannot load /srv/app/secret.js', 'Error: cannot load [path]'],
    ['Error: at:/srv/app/secret.js', 'Error: [path]'],
    [
      "Error: ENOENT: no such file or directory, open '/etc/passwd'",
      'Error: ENOENT: no such file or directory, open [path]',
    ],
    [String.raw`Error: \\host\share is away`, 'Error: [path] is away'],
    [String.raw`Error: C:\Program Files\My App\key.pem`, 'Error: [path]'],
    ['Error: /srv/My Own Folder/x is gone', 'Error: [path] is gone'],
    ["Error: copyfile '/srv/My Own' -> '/srv/Other One' failed", 'Error: copyfile [path] -> [path] failed'],
    ["Error: no end of '/srv/My Own", 'Error: no end of [path]'],
    ['Error: file:///srv/app/a.js', 'Error: [path]'],
    ['Error: ~/keys and ../other', 'Error: [path]'],
    ['Error: text/html is not application/json', 'Error: [path] is not [path]'],
    ['Error: see https://example.com/a/b?c=d.', 'Error: see https://example.com/a/b?c=d.'],
    ['Error: (https://example.com:8080/a), or', 'Error: (https://example.com:8080/a), or'],
    ['Error: https://example.com/,/srv/app/a.js', 'Error: [path]'],
    ['The worker host/1 was lost during attempt 1', 'The worker was lost during attempt 1'],
    ['Error: the worker my host/1 was lost', 'Error: the worker was lost'],
    ['LeaseLostError: The worker box was considered dead', 'LeaseLostError: The worker was considered dead'],
    ['Error: first\r\nsecond', 'Error: first'],
  ])('%s → %s', (text, shown) => {
    expect(errorTextForOwner(text)).toBe(shown)
    expect(logTextForOwner(text).split(/\r?\n/)[0]).toBe(shown)
  })

  it('has no stack and no causes, because they may name workers and hosts', () => {
    const cause = new Error('the worker box-1/abc was lost, and db.internal:3306 refused')
    expect(errorTextForOwner(errorText(new Error('not sent', { cause })))).toBe('Error: not sent')
  })
})

it('text that a handler logs keeps its lines, except for those of a stack', () => {
  expect(logTextForOwner(errorText(new Error('a /srv/b\nc')))).toBe('Error: a [path]\nc')
})
