import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { buildPrograms } from '../../bench/build.ts'
import { Child, killAll, runProgram } from '../../bench/child.ts'
import { SHAPES } from '../../bench/suites/calendar.ts'

const measured = z.object({ perSecond: z.number(), elapses: z.array(z.string()) })

beforeAll(() => buildPrograms())
afterAll(() => killAll())

describe('the compared calendar libraries', () => {
  for (const { name, timers, from, steps } of SHAPES) {
    it(`find the same run times as Kalends: ${name}`, async () => {
      const ask = (file: string, library: string) =>
        runProgram(file, { library, timers, from, steps: Math.min(steps, 5), ms: 1 }, measured)
      const kalends = await ask('programs/calendar', 'Kalends')
      expect(kalends.elapses).toHaveLength(Math.min(steps, 5) * timers.length)
      for (const library of ['croner', 'cron-parser', 'cronosjs'])
        expect((await ask('peers/calendar', library)).elapses, library).toEqual(kalends.elapses)
    })
  }
})

describe('a measured program', () => {
  it('reports the reason when it fails', async () => {
    const params = { library: 'none', timers: [], from: '2027-01-01T00:00:00Z', steps: 1, ms: 1 }
    await expect(runProgram('peers/calendar', params, measured)).rejects.toThrow(
      /peers\/calendar failed: RangeError: Unknown library 'none'/,
    )
    await expect(runProgram('peers/calendar', {}, measured)).rejects.toThrow(/invalid_type/)
  })

  it('is reported with its output if it ends without a message', async () => {
    await expect(runProgram('programs/nowhere', {}, measured)).rejects.toThrow(
      /ended without a message:[^]*Cannot find module/,
    )
  })

  it('waits for the start signal, and is killed with all other programs at the end of the benchmark', async () => {
    const child = new Child('programs/start', { url: 'sqlite::memory:' })
    await child.ready()
    await killAll()
    await expect(child.ready()).rejects.toThrow(/ended without a message/)
    expect(() => new Child('programs/start', {})).toThrow(/The benchmark is over/)
  })
})
