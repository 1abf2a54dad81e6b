import { expect, test } from 'vitest'
import { fromStored, fromText, toText } from '../../src/model/instant.ts'

test.each([
  ['2026-03-01 09:30:00.007', '2026-03-01T09:30:00.007Z'],
  ['1970-01-01 00:00:00.000', '1970-01-01T00:00:00.000Z'],
  ['9999-12-31 23:59:59.999', '9999-12-31T23:59:59.999Z'],
])('%s is stored and read in UTC', (text, iso) => {
  expect(toText(new Date(iso))).toBe(text)
  expect(fromText(text)).toEqual(new Date(iso))
  expect(fromStored(text)).toEqual(new Date(iso))
})

test.each([null, '', 'tomorrow', '2026-13-01 00:00:00.000'])('%j is not an instant', (text) => {
  expect(fromText(text)).toBeNull()
})

test('in a column that is never NULL, invalid text is read as the epoch', () => {
  expect(fromStored('tomorrow')).toEqual(new Date(0))
})
