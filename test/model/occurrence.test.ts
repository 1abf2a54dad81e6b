import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { newJobId, occurrenceId } from '../../src/model/occurrence.ts'

const SLOT = new Date('2026-03-27T08:00:00.123Z')
const UUID_V8 = /^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/
const UUID_V7 = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/

/** The first 48 bits, which are Unix milliseconds. */
const millisOf = (id: string) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)

const anySlot = fc.date({ min: new Date(0), max: new Date('2200-01-01'), noInvalidDate: true })

describe('the id of an occurrence', () => {
  test('is the same wherever it is computed: others can recompute it', () => {
    expect(occurrenceId('report', SLOT)).toBe('019d2e4e-a87b-8ff7-8909-74f1365d34a0')
    expect(occurrenceId('report', new Date(SLOT))).toBe(occurrenceId('report', SLOT))
  })

  test('is a UUIDv8 that begins with the milliseconds of the slot', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), anySlot, (schedule, slot) => {
        const id = occurrenceId(schedule, slot)
        expect(id).toMatch(UUID_V8)
        expect(millisOf(id)).toBe(slot.getTime())
      }),
    )
  })

  test('sorts by time', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), anySlot, anySlot, (one, other, a, b) => {
        fc.pre(a < b)
        expect(occurrenceId(one, a) < occurrenceId(other, b)).toBe(true)
      }),
    )
  })

  test('differs by schedule and by slot', () => {
    const ids = ['a', 'b', 'a\n', 'A', ''].flatMap((schedule) => [
      occurrenceId(schedule, SLOT),
      occurrenceId(schedule, new Date(SLOT.getTime() + 1)),
    ])
    expect(new Set(ids).size).toBe(ids.length)
  })
})

describe('the id of any other job', () => {
  test('is a UUIDv7 that begins with the milliseconds of its creation, different each time', () => {
    const ids = Array.from({ length: 1000 }, () => newJobId(SLOT))
    for (const id of ids) {
      expect(id).toMatch(UUID_V7)
      expect(millisOf(id)).toBe(SLOT.getTime())
    }
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('sorts after all earlier ids of this process, also within a millisecond', () => {
    const ids = Array.from({ length: 5000 }, (_, index) => newJobId(new Date(SLOT.getTime() + index / 1000)))
    expect(ids.toSorted()).toEqual(ids)
  })
})
