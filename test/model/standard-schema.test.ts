import { expect, test } from 'vitest'
import { issuesText } from '../../src/model/standard-schema.ts'

test('the issues of a schema are listed on one line, each with its path', () => {
  expect(
    issuesText([
      { message: 'required' },
      { message: 'expected number', path: ['days'] },
      { message: 'too short', path: ['to', 0, { key: 'name' }] },
      { message: 'unknown', path: [Symbol('s')] },
      { message: 'empty', path: [] },
    ]),
  ).toBe('required; days: expected number; to.0.name: too short; Symbol(s): unknown; empty')
})
