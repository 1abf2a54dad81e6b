/**
 * A self-rescheduling interval.
 *
 * The design: when a run ends, the next one is scheduled an interval later, so runs never overlap. A task may be
 * limited to a number of runs and is done after the last run. A failed run is retried after 60, 120, 240 and 480
 * seconds, then every 600 seconds. If all retries fail, the task is dead and stores the error. People can pause and
 * resume it, and reset it when it is done or dead.
 *
 * In Kalends: `every … after finish`, `maxRuns`, `retries`, `onExhausted: 'stop'`, and the calls `pause`, `resume` and
 * `reset`.
 *
 *     node examples/dist/semantics/repeating.js                                      a demo on a virtual clock
 *     node dist/cli/main.js start examples/dist/semantics/repeating.js --database sqlite:./app.db    in real time
 */
import { type Kalends, PermanentError, task } from 'kalends'
import { open } from 'kalends/testing'

/** The first retry delay is the timer's interval, and the longest is ten intervals. */
export const poll = task<{ feed: string }>('poll', { retries: 6, retryBackoff: 'exponential' })

export type Fetch = (feed: string) => unknown

export const polling =
  (fetchFeed: Fetch) =>
  (kalends: Kalends): void => {
    kalends.handle(poll, ({ args, attempt, log }) => {
      log.info(`attempt ${attempt}`)
      return fetchFeed(args.feed)
    })
  }

/** For `kalends start`: a setup may be asynchronous, and may create schedules that users manage afterwards. */
export default async (kalends: Kalends): Promise<void> => {
  polling((feed) => `read ${feed}`)(kalends)
  await kalends.schedules.put('news', {
    task: poll,
    timer: 'every 60s after finish',
    args: { feed: 'news' },
    onExhausted: 'stop',
  })
}

/** Prints what happens. The clock is virtual, so the lines are always the same. */
export async function story(tell: (line: string) => void): Promise<void> {
  const feed = { isUp: true, isGone: false }
  const begin = new Date('2026-01-01T00:00:00Z')
  const seconds = () => `${(test.now().getTime() - begin.getTime()) / 1000}s`.padStart(6)
  const fetchFeed = (name: string) => {
    if (feed.isGone) throw new PermanentError(`${name} no longer exists`)
    if (!feed.isUp) throw new Error(`${name} is down`)
    return `read ${name}`
  }
  await using test = await open(polling(fetchFeed), { now: begin })
  const { schedules } = test.kalends
  test.kalends.on('settled', ({ attempt, state, retryInMs }) => {
    const next = retryInMs === null ? '' : `, again in ${retryInMs / 1000}s`
    tell(`${seconds()}  attempt ${attempt}: ${state}${next}`)
  })
  const tellStatus = async (what: string) => {
    const { status, runCount, errorCount, lastError } = await existing()
    const error = lastError === null ? '' : `, ${lastError.split('\n')[0]}`
    tell(`${seconds()}  ${what}: ${status}, ${runCount} runs, ${errorCount} failed${error}`)
  }
  const existing = async () => {
    const schedule = await schedules.get('news')
    if (schedule === null) throw new Error("the schedule 'news' was deleted")
    return schedule
  }

  await schedules.create({
    id: 'news',
    task: poll,
    timer: 'every 60s after finish',
    args: { feed: 'news' },
    maxRuns: 3,
    onExhausted: 'stop',
  })
  await test.advance('1h')
  await tellStatus('an hour later')

  await schedules.reset('news')
  await tellStatus('reset')
  feed.isUp = false
  await test.advance('4min')
  feed.isUp = true
  await test.advance('5min')
  await tellStatus('the feed was down for a while')

  await schedules.pause('news')
  await test.advance('1h')
  await tellStatus('paused for an hour')
  await schedules.resume('news')
  await test.advance('60s')
  await tellStatus('resumed a minute ago')

  await schedules.reset('news')
  feed.isUp = false
  await test.advance('2h')
  await tellStatus('the feed is down')

  await schedules.reset('news')
  feed.isGone = true
  await test.advance('60s')
  await tellStatus('a permanent error is not retried')
}

if (process.argv[1] === import.meta.filename) await story((line) => console.log(line))
