import { describe, expect, it } from 'vitest'
import { occurrenceProblems, type OccurrenceRow, type ScheduleEnd, tally } from './occurrences.ts'

const start = Date.UTC(2026, 0, 1)
const at = (second: number) => start + second * 1000
const expected = { from: at(0), until: at(4), stepMs: 1000 }
const schedule: ScheduleEnd = { id: 'a', lastSlot: at(4), worker: null }

function run(second: number, changes: Partial<OccurrenceRow> = {}): OccurrenceRow {
  return {
    id: `a-${second}`,
    schedule: 'a',
    slot: at(second),
    missed: 0,
    state: 'success',
    reason: null,
    submitted: at(second) + 5,
    started: at(second) + 8,
    attempt: 1,
    ...changes,
  }
}

function skip(second: number, count: number, reason: string): OccurrenceRow {
  return run(second, { missed: count, state: 'skipped', reason, started: null, attempt: 0 })
}

const correct = [0, 1, 2, 3, 4].map((second) => run(second))
const problems = (rows: readonly OccurrenceRow[], end = schedule) => occurrenceProblems([end], rows, expected)

describe('the checker of occurrences', () => {
  it('finds no problem if each slot ran once', () => {
    expect(problems(correct)).toEqual([])
  })

  it('counts the slots that a skip represents', () => {
    expect(problems([run(0), skip(2, 2, 'overlap'), run(3), run(4)])).toEqual([])
    expect(problems([run(0), skip(3, 3, 'missed'), run(4, { missed: 3 })])).toEqual([])
    expect(problems([run(0), skip(2, 2, 'missed'), skip(3, 1, 'overlap'), run(4)])).toEqual([])
  })

  it('finds a duplicate', () => {
    expect(problems([...correct, run(2, { id: 'again' })])).toEqual([
      'a at 2026-01-01T00:00:02.000Z (success): decided twice, 1 slots',
    ])
  })

  it('finds a slot that was both skipped and run', () => {
    expect(problems([run(0), run(1), skip(2, 2, 'overlap'), run(3), run(4)])).toHaveLength(1)
    expect(problems([...correct, skip(4, 1, 'missed')])).not.toEqual([])
  })

  it('finds a lost slot in the middle, at the start and at the end', () => {
    expect(problems(correct.filter((row) => row.slot !== at(2)))).toEqual([
      'a: lost 1 slots from 2026-01-01T00:00:02.000Z',
    ])
    expect(problems(correct.slice(2))).toEqual(['a: lost 2 slots from 2026-01-01T00:00:00.000Z'])
    expect(problems(correct.slice(0, 4))).toHaveLength(2)
    expect(problems([])).not.toEqual([])
  })

  it('finds a skip that counts too few slots', () => {
    expect(problems([run(0), skip(2, 1, 'overlap'), run(3), run(4)])).toEqual([
      'a: lost 1 slots from 2026-01-01T00:00:01.000Z',
    ])
  })

  it('finds a run that does not report the slots that were dropped before it', () => {
    expect(problems([run(0), skip(3, 3, 'missed'), run(4)])).toEqual([
      'a at 2026-01-01T00:00:04.000Z (success): says 0 missed, but 3 were dropped before it',
    ])
    expect(problems([run(0), run(1), run(2, { missed: 1 }), run(3), run(4)])).toHaveLength(1)
  })

  it('finds an early run', () => {
    expect(problems([...correct.slice(1), run(0, { submitted: at(0) - 3 })])).toEqual([
      'a at 2026-01-01T00:00:00.000Z (success): submitted 3 ms early',
    ])
    expect(problems([...correct.slice(1), run(0, { started: at(0) - 1 })])).toHaveLength(1)
  })

  it('finds an unfinished job, a remaining mark, and a row without a schedule', () => {
    expect(problems([...correct.slice(1), run(0, { state: 'running' })])).toEqual([
      'a at 2026-01-01T00:00:00.000Z (running): left in state running',
    ])
    expect(problems(correct, { ...schedule, worker: 'w/1' })).toEqual(['a: a mark of w/1 was left'])
    expect(problems([...correct, run(0, { schedule: 'b' })])).toHaveLength(1)
  })

  it('finds a schedule whose last slot differs from that of its last row', () => {
    expect(problems(correct, { ...schedule, lastSlot: at(5) })).toHaveLength(1)
  })

  it('counts the results', () => {
    expect(tally([run(0), skip(3, 3, 'missed'), run(4, { missed: 3, attempt: 2 })])).toMatchObject({
      runs: 2,
      skipped: { missed: 3 },
      retried: 1,
      latenessP99: 5,
    })
  })
})
