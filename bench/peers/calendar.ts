/** Measures the `next` functions of libraries for cron expressions. */
import { CronExpressionParser } from 'cron-parser'
import { Cron } from 'croner'
import { CronosExpression } from 'cronosjs'
import { elapsingParams, measureNext, type Next } from '../programs/elapsing.ts'
import { program } from '../programs/program.ts'

const LIBRARIES: Readonly<Record<string, (cron: string, zone: string) => Next>> = {
  croner: (cron, zone) => {
    const parsed = new Cron(cron, { timezone: zone, paused: true })
    return (after) => parsed.nextRun(after)
  },
  'cron-parser': (cron, zone) => {
    const parsed = CronExpressionParser.parse(cron, { tz: zone })
    return (after) => {
      parsed.reset(after)
      return parsed.next().toDate()
    }
  },
  cronosjs: (cron, zone) => {
    const parsed = CronosExpression.parse(cron, { timezone: zone })
    return (after) => parsed.nextDate(after)
  },
}

await program(elapsingParams, async (params) => {
  const library = LIBRARIES[params.library]
  if (library === undefined) throw new RangeError(`Unknown library '${params.library}'`)
  return measureNext(
    params.timers.map(({ cron, zone }) => library(cron, zone)),
    params,
  )
})
