/** The ids that owners can choose, and the fields that they can write. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isName } from '../../src/model/input.ts'
import { NAME_LIMIT } from '../../src/model/settings.ts'
import {
  ANY_OWNER,
  chosenJobId,
  isJobId,
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
const owner: fc.Arbitrary<Owner> = fc.record({ group: name(NAME_LIMIT), submitter: name(NAME_LIMIT) })
const id = fc
  .string({ minLength: 1, maxLength: 40 })
  .filter((text) => isName(text, 40) && !text.includes('/'))

describe('the ids of an owner', () => {
  it.each([
    [{ group: null, submitter: 'ann' }, 'ann/'],
    [{ group: 'acme', submitter: null }, 'acme:/'],
    [{ group: 'acme', submitter: 'ann' }, 'acme:ann/'],
    [{ group: 'a/b:c', submitter: '~%' }, 'a%2Fb%3Ac:%7E%25/'],
    [{ group: null, submitter: 'Zoë Ångström' }, 'Zo%C3%AB%20%C3%85ngstr%C3%B6m/'],
    [{ group: 'ann@acme.org', submitter: '👍' }, 'ann@acme.org:%F0%9F%91%8D/'],
    [{ group: null, submitter: 'x'.repeat(126) }, `${'x'.repeat(126)}/`],
    [{ group: null, submitter: 'x'.repeat(127) }, expect.stringMatching(/^~[\da-f]{32}\/$/)],
    [ANY_OWNER, ''],
  ])('%j: %s', (of, prefix) => {
    expect(prefixOf(of)).toEqual(prefix)
  })

  it('no two owners have the same prefix, and no prefix begins with another prefix [V3]', () => {
    fc.assert(
      fc.property(owner, owner, (one, other) => {
        fc.pre(one.group !== other.group || one.submitter !== other.submitter)
        fc.pre(prefixOf(one) !== '' && prefixOf(other) !== '')
        expect(prefixOf(one).startsWith(prefixOf(other))).toBe(false)
      }),
    )
  })

  it("a prefix is ASCII and, unless it is hashed, encodes the owner's group and submitter", () => {
    fc.assert(
      fc.property(owner, (of) => {
        const prefix = prefixOf(of)
        expect(isJobId(prefix)).toBe(true)
        expect(prefix.length).toBeLessThanOrEqual(NAME_LIMIT / 2)
        if (prefix.startsWith('~') || prefix === '') return
        const [submitter = '', group = null] = prefix.slice(0, -1).split(':').toReversed()
        expect({
          group: group && decodeURIComponent(group),
          submitter: decodeURIComponent(submitter),
        }).toEqual({ group: of.group, submitter: of.submitter ?? '' })
      }),
    )
  })

  it('an owner sees the id that it chose and can address the row by it', () => {
    fc.assert(
      fc.property(owner, id, (of, chosen) => {
        const stored = newId(of, chosen)
        expect(stored.length).toBeLessThanOrEqual(NAME_LIMIT)
        expect(shownId(of, stored)).toBe(chosen)
        expect(storedIds(of, chosen)[0]).toBe(stored)
      }),
    )
  })

  it.each(['', ' ', 'a/b', 'nul\0', 'x'.repeat(255), '👍'.repeat(255)])('%j is not a valid id', (wrong) => {
    expect(() => newId(ANY_OWNER, wrong)).toThrow(expect.objectContaining({ field: 'id' }))
  })

  it('the error shows the rejected id', () => {
    expect(() => newId(ANY_OWNER, 'a/b')).toThrow('must be an id without \'/\', got "a/b"')
  })

  it('the prefix counts towards the maximum length of an id', () => {
    const ann = { group: null, submitter: 'ann' }
    expect(newId(ann, 'x'.repeat(250))).toHaveLength(NAME_LIMIT)
    expect(() => newId(ann, 'x'.repeat(251))).toThrow(
      /^id: must be an id of 1 to 250 characters \(the prefix of this scope takes 4 of 254\), got "xxx/,
    )
    expect(Array.from(newId(ann, '👍'.repeat(250)))).toHaveLength(NAME_LIMIT)
    expect(() => newId(ann, '👍'.repeat(251))).toThrow('1 to 250 characters')
    expect(() => newId(ann, 'x'.repeat(255))).toThrow('1 to 254 characters')
  })

  it('every owner keeps at least half of the maximum id length for its own ids', () => {
    for (const text of ['x'.repeat(127), '👍'.repeat(NAME_LIMIT), 'x'.repeat(126), 'ä'.repeat(21)]) {
      const submitter = { group: null, submitter: text }
      expect(newId(submitter, 'y'.repeat(127)).length).toBeLessThanOrEqual(NAME_LIMIT)
      expect(newId({ group: text, submitter: text }, 'y'.repeat(127)).length).toBeLessThanOrEqual(NAME_LIMIT)
    }
  })

  it('a job id is ASCII, even if the name of the owner is not', () => {
    const zoe = { group: null, submitter: 'Zoë' }
    expect([' a', 'a ', 'ä'].filter(isJobId)).toEqual([' a'])
    expect(chosenJobId(zoe, 'a b')).toBe('Zo%C3%AB/a b')
    expect(chosenJobId(ANY_OWNER, 'x'.repeat(NAME_LIMIT))).toHaveLength(NAME_LIMIT)
    for (const text of ['ä', '👍', 'a\u00a0b', 'e\u0301'])
      expect(() => chosenJobId(ANY_OWNER, text), text).toThrow(
        `id: must be a job id of 1 to 254 ASCII characters, got "${text}"`,
      )
    for (const text of ['', ' ', 'a ', 'a/b', 'a\tb', 'x'.repeat(NAME_LIMIT + 1)])
      expect(() => chosenJobId(ANY_OWNER, text), text).toThrow(expect.objectContaining({ field: 'id' }))
  })
})

describe('an owner', () => {
  const ann = { group: null, submitter: 'ann' }
  const acme = { group: 'acme', submitter: null }

  it('sets its own fields in every row that it writes', () => {
    expect(ownedSettings(ann)).toEqual({ submitter: 'ann' })
    expect(ownedSettings(acme)).toEqual({ group: 'acme' })
    expect(ownedSettings({ group: 'acme', submitter: 'ann' })).toEqual({ group: 'acme', submitter: 'ann' })
    expect(ownedSettings(ANY_OWNER)).toEqual({})
  })

  it('cannot write a field that its scope leaves open, because the row would also belong to another owner', () => {
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

  it('can omit a field that its scope leaves open, or pass it empty, and can pass any value in other fields', () => {
    for (const given of [{}, { group: '' }, { group: null }, { submitter: 'bob' }])
      requireOwnFields(ann, given)
    for (const given of [{}, { submitter: '' }, { group: 'other' }]) requireOwnFields(acme, given)
  })

  it('an unrestricted owner can write every field', () => {
    requireOwnFields(ANY_OWNER, { group: 'acme', submitter: 'ann' })
  })

  it('sees ids from code unchanged', () => {
    expect(shownId(ann, 'nightly')).toBe('nightly')
    expect(shownId(ann, 'bob/nightly')).toBe('bob/nightly')
  })

  it('looks up its own prefixed id before an id from code', () => {
    expect(storedIds(ann, 'nightly')).toEqual(['ann/nightly', 'nightly'])
    expect(storedIds(ANY_OWNER, 'nightly')).toEqual(['nightly'])
  })
})
