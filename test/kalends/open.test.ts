import { expect, test } from 'vitest'
import { InvalidInputError, Kalends } from '../../src/index.ts'

/** Values that plain JavaScript may pass despite the types. */
function wrong(value: unknown): never {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return value as never
}

test.each([
  ['undefined', wrong(undefined)],
  ['null', wrong(null)],
  ['number', wrong(5)],
])('open(%s) is rejected, and the error shows what is accepted', async (text, target) => {
  const error = await Kalends.open(target).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(InvalidInputError)
  expect(String(error)).toContain(`must be the URL of a database, such as`)
  expect(String(error)).toContain(`got ${text}`)
})
