/** The namespace of the ids that owners choose. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isName } from '../../src/model/input.ts'
import {
  ANY_OWNER,
  ID_LIMIT,
  newId,
  type Owner,
  ownedSettings,
  prefixOf,
  requireOwnFields,
  shownId,
  storedIds,
} from '../../src/model/owner.ts'

const name = (maxLength: number) =>
  fc.option(
    fc.oneof(fc.string({ minLength: 1, maxLength, unit: 'grapheme' }), fc.stringMatching(/^[%/:~a]{1,9}$/)),
  )
const owner: fc.Arbitrary<Owner> = fc.record({ group: name(100), submitter: name(190) })
const id = fc
  .string({ minLength: 1, maxLength: 40 })
  .filter((text) => isName(text, 40) && !text.includes('/'))

describe('the ids of an owner', () => {
  it.each([
    [{ group: null, submitter: 'ann' }, 'ann/'],
    [{ group: 'acme', submitter: null }, 'acme:/'],
    [{ group: 'acme', submitter: 'ann' }, 'acme:ann/'],
    [{ group: 'a/b:c', submitter: '~%' }, 'a%2fb%3ac:%7e%25/'],
    [{ group: null, submitter: 'x'.repeat(100) }, expect.stringMatching(/^~[\da-f]{32}\/$/)],
    [ANY_OWNER, ''],
  ])('%j: %s', (of, prefix) => {
    expect(prefixOf(of)).toEqual(prefix)
  })

  it('no two owners have the same prefix, and none is a prefix of another', () => {
    fc.assert(
      fc.property(owner, owner, (one, other) => {
        fc.pre(one.group !== other.group || one.submitter !== other.submitter)
        fc.pre(prefixOf(one) !== '' && prefixOf(other) !== '')
        expect(prefixOf(one).startsWith(prefixOf(other))).toBe(false)
      }),
    )
  })

  it('an owner sees the id that it chose, and can address the row with it', () => {
    fc.assert(
      fc.property(owner, id, (of, chosen) => {
        const stored = newId(of, chosen)
        expect(stored.length).toBeLessThanOrEqual(ID_LIMIT)
        expect(shownId(of, stored)).toBe(chosen)
        expect(storedIds(of, chosen)[0]).toBe(stored)
      }),
    )
  })

  it.each(['', ' ', 'a/b', 'nul\0', 'x'.repeat(191)])('%j is not a valid id', (wrong) => {
    expect(() => newId(ANY_OWNER, wrong)).toThrow(expect.objectContaining({ field: 'id' }))
  })

  it('the error shows the id that was refused', () => {
    expect(() => newId(ANY_OWNER, 'a/b')).toThrow('an id without \'/\' is needed, not "a/b"')
  })

  it('the prefix counts towards the length', () => {
    const ann = { group: null, submitter: 'ann' }
    expect(newId(ann, 'x'.repeat(186))).toHaveLength(ID_LIMIT)
    expect(() => newId(ann, 'x'.repeat(187))).toThrow('1 to 186 characters')
  })
})

describe('an owner', () => {
  const ann = { group: null, submitter: 'ann' }
  const acme = { group: 'acme', submitter: null }

  it('writes the fields that its rows have, whatever the input says', () => {
    expect(ownedSettings(ann)).toEqual({ submitter: 'ann' })
    expect(ownedSettings(acme)).toEqual({ group: 'acme' })
    expect(ownedSettings({ group: 'acme', submitter: 'ann' })).toEqual({ group: 'acme', submitter: 'ann' })
    expect(ownedSettings(ANY_OWNER)).toEqual({})
  })

  it('cannot write a field that its scope leaves open: the row would be one of another owner as well', () => {
    for (const [owner, given, field] of [
      [ann, { group: 'acme' }, 'group'],
      [acme, { submitter: 'ann' }, 'submitter'],
    ] as const)
      expect(() => requireOwnFields(owner, given)).toThrow(
        expect.objectContaining({
          code: 'KALENDS_FORBIDDEN',
          message: expect.stringContaining(`this scope has no ${field}`),
        }),
      )
  })

  it('may leave such a field out, or empty, and give its own fields', () => {
    for (const given of [{}, { group: '' }, { group: null }, { submitter: 'bob' }])
      requireOwnFields(ann, given)
    for (const given of [{}, { submitter: '' }, { group: 'other' }]) requireOwnFields(acme, given)
  })

  it('that is any may write every field', () => {
    requireOwnFields(ANY_OWNER, { group: 'acme', submitter: 'ann' })
  })

  it('sees an id that code has given to its row as it is', () => {
    expect(shownId(ann, 'nightly')).toBe('nightly')
    expect(shownId(ann, 'bob/nightly')).toBe('bob/nightly')
  })

  it('reaches a row under its own id before one that code has named', () => {
    expect(storedIds(ann, 'nightly')).toEqual(['ann/nightly', 'nightly'])
    expect(storedIds(ANY_OWNER, 'nightly')).toEqual(['nightly'])
  })
})
