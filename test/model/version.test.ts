import { expect, test } from 'vitest'
import { VERSION } from '../../src/generated/version.ts'
import { newest, versionProblem } from '../../src/model/version.ts'

test.each([
  ['1.2.3', '1.2.3', true],
  ['1.2.4', '1.2.3', true],
  ['1.10.0', '1.9.9', true],
  ['2.0.0', '1.9.9', true],
  ['1.2.3', '1.2.4', false],
  ['1.9.9', '1.10.0', false],
  ['0.9.0', '1.0.0', false],
  ['1.2.3', 'whatever', false],
  ['whatever', '1.2.3', true],
  ['whatever', 'whatever', true],
  ['12.20.30', '12.20.29', true],
  ['12.20.30', '12.20.31', false],
  ['12.20.30', '12.21.0', false],
  ['12.20.30', '13.0.0', false],
  // A release candidate counts as its release.
  ['1.2.3-rc.1', '1.2.3', true],
  ['1.2.3', 'v1.2.2', false],
])('%s works on tables that need %s: %s', (own, needed, works) => {
  expect(versionProblem(needed, own) === null).toBe(works)
})

test('the error contains the required and the current version', () => {
  expect(versionProblem('1.2.3', '1.2.2')).toMatch(/need Kalends 1\.2\.3 or later, and this is 1\.2\.2/)
  expect(versionProblem('999.0.0')).toContain(VERSION)
})

test('tables without a required version work with any version', () => {
  expect(versionProblem(null, '0.0.1')).toBeNull()
})

test('of the versions that several migrations require, the newest applies', () => {
  expect(newest([])).toBeNull()
  expect(newest(['1.2.0', '1.10.0', '1.9.0'])).toBe('1.10.0')
})
