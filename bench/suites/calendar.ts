/** `next()` and parsing of calendar events, compared with systemd's own code and libraries for cron expressions. */
import { z } from 'zod'
import { runProgram } from '../child.ts'
import { interleave } from '../rounds.ts'
import type { Bench, Findings, Suite, Target } from '../suite.ts'
import type { Measure } from '../measure.ts'
import { buildSystemdCalendar } from '../systemd.ts'
import { eachAtLeast, find, type Named, ratio } from '../target.ts'
import { median } from '../statistics.ts'

interface Timer {
  readonly event: string
  readonly cron: string
  readonly zone: string
}
interface Shape {
  readonly name: string
  readonly timers: readonly Timer[]
  readonly from: string
  readonly steps: number
}

const ZONE = 'Europe/Berlin'
const weekdays = (zone: string): Timer => ({ event: 'Mon..Fri 09:00', cron: '0 9 * * 1-5', zone })
const one = (event: string, cron: string): readonly Timer[] => [{ event, cron, zone: ZONE }]

/** Timers that elapse at the same instants, in the syntax of each library. */
export const SHAPES: readonly Shape[] = [
  { name: 'Mon..Fri 09:00', timers: [weekdays(ZONE)], from: '2027-01-01T00:00:00Z', steps: 260 },
  { name: 'minutely', timers: one('*:*', '* * * * *'), from: '2027-01-01T00:00:00Z', steps: 500 },
  { name: 'Feb 29', timers: one('*-02-29 12:00', '0 12 29 2 *'), from: '2027-01-01T00:00:00Z', steps: 10 },
  // The steps cross the night when the clocks go back; 04:30 does not occur twice.
  { name: 'DST night', timers: one('04:30', '30 4 * * *'), from: '2027-10-29T12:00:00Z', steps: 4 },
  { name: '*-*~1 18:00', timers: one('*-*~1 18:00', '0 18 L * *'), from: '2027-01-01T00:00:00Z', steps: 24 },
  {
    name: 'two zones',
    timers: [weekdays(ZONE), weekdays('America/New_York')],
    from: '2027-01-01T00:00:00Z',
    steps: 130,
  },
]

const SYSTEMD = 'systemd'
const PEERS = ['croner', 'cron-parser', 'cronosjs']
const measuredSchema = z.object({
  perSecond: z.number(),
  elapses: z.array(z.string()),
  parsesPerSecond: z.number().optional(),
})
type Measured = z.infer<typeof measuredSchema>

export const calendarSuite: Suite = {
  name: 'calendar',
  title: 'next() and parsing of calendar events',
  run: async (bench) => {
    const systemd = await buildSystemdCalendar()
    try {
      const measures: Measure[] = []
      for (const shape of SHAPES) {
        bench.say(shape.name)
        measures.push(...(await measureShape(bench, shape, typeof systemd === 'string' ? null : systemd)))
      }
      const notes =
        typeof systemd === 'string'
          ? [`${SYSTEMD} was not measured: ${systemd}`]
          : [
              `${SYSTEMD} ${systemd.version} is its C code, called in process. It supports only one zone per process, so the row with two zones is missing.`,
            ]
      return { measures, targets: judge(measures), notes } satisfies Findings
    } finally {
      if (typeof systemd !== 'string') await systemd.remove()
    }
  },
}

async function measureShape(
  { runs, quick }: Pick<Bench, 'runs' | 'quick'>,
  { name, timers, from, steps }: Shape,
  systemd: Exclude<Awaited<ReturnType<typeof buildSystemdCalendar>>, string> | null,
): Promise<Measure[]> {
  const ms = quick ? 100 : 400
  const [only, ...others] = timers
  const withSystemd = systemd !== null && only !== undefined && others.length === 0
  const subjects = ['Kalends', ...(withSystemd ? [SYSTEMD] : []), ...PEERS]
  const results = await interleave(subjects, runs, async (subject): Promise<Measured> => {
    if (subject === SYSTEMD && withSystemd)
      return systemd.next(only.event, only.zone, new Date(from), steps, ms)
    const file = subject === 'Kalends' ? 'programs/calendar' : 'peers/calendar'
    return runProgram(file, { library: subject, timers, from, steps, ms }, measuredSchema)
  })
  const expected = results.get('Kalends')?.[0]?.elapses
  for (const [subject, [first]] of results) {
    if (JSON.stringify(first?.elapses) !== JSON.stringify(expected))
      throw new Error(`${subject} and Kalends find different elapses of ${name}: the comparison is invalid`)
  }
  const parses = (results.get('Kalends') ?? []).flatMap(({ parsesPerSecond }) => parsesPerSecond ?? [])
  return [
    ...[...results].map(([subject, values]) => ({
      work: `next(), ${name}`,
      subject,
      unit: 'per s',
      values: values.map(({ perSecond }) => perSecond),
    })),
    { work: `parse, ${name}`, subject: 'Kalends', unit: 'per s', values: parses },
  ]
}

function judge(measures: readonly Measure[]): Target[] {
  const rates = (kind: string) =>
    SHAPES.map(({ name }): Named => [name, median(find(measures, `${kind}, ${name}`, 'Kalends').values)])
  const times = (peers: readonly string[]) =>
    measures
      .filter(({ subject }) => peers.includes(subject))
      .map((its): Named => {
        const name = `${its.subject}, ${its.work.replace('next(), ', '')}`
        return [name, ratio(find(measures, its.work, 'Kalends'), its)]
      })
  const againstSystemd = times([SYSTEMD])
  return [
    eachAtLeast('next(): at least 1,000,000 per s', rates('next()'), 1_000_000, ' per s'),
    ...(againstSystemd.length > 0
      ? [eachAtLeast(`next(): at least 2 times ${SYSTEMD}`, againstSystemd, 2, ' times')]
      : []),
    eachAtLeast('next(): at least 50 times the JavaScript libraries', times(PEERS), 50, ' times'),
    eachAtLeast('parse: at least 500,000 per s', rates('parse'), 500_000, ' per s'),
  ]
}
