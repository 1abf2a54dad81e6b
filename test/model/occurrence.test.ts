import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isOccurrenceId, newJobId, occurrenceId } from '../../src/model/occurrence.ts'

const SLOT = new Date('2026-03-27T08:00:00.123Z')
const UUID_V8 = /^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/
const UUID_V7 = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/

/** The first 48 bits, which are Unix milliseconds. */
const millisOf = (id: string) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)

const anySlot = fc.date({ min: new Date(0), max: new Date('2200-01-01'), noInvalidDate: true })

describe('the id of an occurrence', () => {
  test('is always the same, so that it can be recomputed elsewhere', () => {
    expect(occurrenceId('report', SLOT)).toBe('019d2e4e-a87b-8ff7-8909-74f1365d34a0')
    expect(occurrenceId('report', new Date(SLOT))).toBe(occurrenceId('report', SLOT))
  })

  test('is a UUIDv8 that begins with the time of the slot in milliseconds', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), anySlot, (schedule, slot) => {
        const id = occurrenceId(schedule, slot)
        expect(id).toMatch(UUID_V8)
        expect(millisOf(id)).toBe(slot.getTime())
      }),
    )
  })

  test('can have any of the variant digits of RFC 9562', () => {
    const ids = Array.from({ length: 100 }, (_, n) => occurrenceId(`report ${n}`, SLOT))
    expect(new Set(ids.map((id) => id[19]))).toEqual(new Set('89ab'))
  })

  test('sorts by time', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), anySlot, anySlot, (one, other, a, b) => {
        fc.pre(a < b)
        expect(occurrenceId(one, a) < occurrenceId(other, b)).toBe(true)
      }),
    )
  })

  test('differs by schedule and slot', () => {
    const ids = ['a', 'b', 'a\n', 'A', ''].flatMap((schedule) => [
      occurrenceId(schedule, SLOT),
      occurrenceId(schedule, new Date(SLOT.getTime() + 1)),
    ])
    expect(new Set(ids).size).toBe(ids.length)
  })
})

describe('the id of any other job', () => {
  test('is a unique UUIDv7 that begins with its creation time in milliseconds', () => {
    const ids = Array.from({ length: 1000 }, () => newJobId(SLOT))
    for (const id of ids) {
      expect(id).toMatch(UUID_V7)
      expect(millisOf(id)).toBe(SLOT.getTime())
    }
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('has a new random part in each millisecond, so that it reveals nothing about other ids', () => {
    const tails = Array.from({ length: 100 }, (_, n) => newJobId(new Date(SLOT.getTime() + n)).slice(14))
    const counted = tails.filter((tail, n) => tail.slice(0, 15) === tails[n + 1]?.slice(0, 15))
    expect(counted).toEqual([])
  })

  test('sorts after all earlier ids of this process, even within a millisecond', () => {
    const ids = Array.from({ length: 5000 }, (_, index) => newJobId(new Date(SLOT.getTime() + index / 1000)))
    expect(ids.toSorted()).toEqual(ids)
  })
})

describe('an id in the format of an occurrence id', () => {
  const id = occurrenceId('report', SLOT)

  test('is recognised in uppercase and lowercase, because some databases ignore case', () => {
    expect(isOccurrenceId(id)).toBe(true)
    expect(isOccurrenceId(id.toUpperCase())).toBe(true)
    for (const last of ['8', '9', 'a', 'b'])
      expect(isOccurrenceId(`019d2e4e-a87b-8ff7-${last}909-74f1365d34a0`)).toBe(true)
  })

  test('cannot have another version, variant or length', () => {
    const others = [
      newJobId(SLOT),
      `${id}0`,
      `0${id}`,
      id.slice(1),
      id.slice(0, -1),
      id.replace(/-8/, '-4'),
      '',
    ]
    for (const other of others) expect(isOccurrenceId(other), other).toBe(false)
    for (const variant of ['7', 'c'])
      expect(isOccurrenceId(`019d2e4e-a87b-8ff7-${variant}909-74f1365d34a0`)).toBe(false)
  })

  test('has hyphens and hexadecimal digits at fixed positions', () => {
    for (let at = 0; at < id.length; at += 1)
      for (const character of ['g', '-', ''])
        if (character !== id[at]) {
          const other = id.slice(0, at) + character + id.slice(at + 1)
          expect(isOccurrenceId(other), other).toBe(false)
        }
  })
})

test('a slot before 1970 also has a valid id, which begins with the time 0', () => {
  const before = occurrenceId('report', new Date(-1))
  expect(before).toMatch(UUID_V8)
  expect(millisOf(before)).toBe(0)
})
