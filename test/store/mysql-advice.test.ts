import { expect, it } from 'vitest'
import { advice } from '../../src/store/mysql/errors.ts'

it.each([
  ['ECONNREFUSED', 'start the server, or correct the host and port of the URL'],
  ['ENOTFOUND', 'correct the host of the URL'],
  ['ETIMEDOUT', null],
])('an error %s says what to do', (code, expected) => {
  expect(advice(Object.assign(new Error(code), { code }))).toBe(expected)
})
