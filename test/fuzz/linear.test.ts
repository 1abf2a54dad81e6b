/**
 * The cost of reading untrusted text is at most proportional to its length. Costs are compared with each other, never
 * with absolute times.
 */
import { describe, expect, it } from 'vitest'
import { calendar } from '../../src/calendar/index.ts'
import { errorTextForOwner, logTextForOwner } from '../../src/errors.ts'
import { readBody } from '../../src/http/body.ts'
import { bearer, http } from '../../src/http/index.ts'
import { Kalends } from '../../src/index.ts'
import { Redaction } from '../../src/model/redaction.ts'
import { jsonText } from '../../src/model/json-text.ts'
import { withLiterals } from '../../src/store/mysql/literal.ts'
import { checkTimer, fromCrontab, inWords, timer, timeSpan } from '../../src/timer/index.ts'

/** Reads a string; the result or error does not matter. */
type Step = (text: string) => unknown

interface Case {
  readonly step: Step
  /** Length of the shorter text in characters: enough to make a quadratic step slow. */
  readonly length: number
  /** Repetitions per measurement. */
  readonly times?: number
}

const UNITS = [
  String.raw`\"`,
  String.raw`\\`,
  '"',
  '[',
  '{"a":',
  '[[],',
  '/',
  '/a',
  '/schedules/',
  '//a',
  ' ',
  '\n',
  '\t x',
  '    at ',
  '.',
  '../',
  '%',
  '%41',
  '1',
  '1e',
  '1.',
  '-1',
  ',',
  '1,',
  '0/1,',
  '1-2,',
  '*',
  '..',
  ':',
  ':1',
  '::',
  '@',
  'a',
  'Z',
  'aaaaaaab',
  '&a',
  '=',
  '+json',
  '; ',
  'min ',
  '1h ',
  'Mon,',
  'secret-1',
  '\ud83d',
]
const distinct = (length: number): string => {
  const names: string[] = []
  for (let size = 0; size < length; size += (names.at(-1)?.length ?? 0) + 1) names.push(`p${names.length}`)
  return names.join('&')
}
const HOSTILE: Readonly<Record<string, (length: number) => string>> = {
  ...Object.fromEntries(
    UNITS.flatMap((unit) => {
      const repeated = (length: number) => unit.repeat(Math.ceil(length / unit.length))
      // Strings that are read to the end, including strings whose only error is their last character.
      return [
        [JSON.stringify(unit), repeated],
        [`${JSON.stringify(unit)} and !`, (length: number) => `${repeated(length)}!`],
      ] as const
    }),
  ),
  'distinct parameters': distinct,
}

const SECRET = `${'a'.repeat(3000)}b`
const request = (path: string, headers: Record<string, string> = {}) =>
  new Request(`http://localhost${path}`, { headers })
/** Header values are limited to printable ASCII here. */
const header = (text: string) => text.replaceAll(/[^\x20-\x7e]/g, '.')

async function cases(): Promise<Record<string, Case>> {
  const kalends = await Kalends.open('sqlite::memory:', { retention: false })
  const open = http(kalends, { open: 'admin', basePath: '/kalends' })
  const signIn = bearer({ 'a-token-of-some-length': { role: 'read' } })
  const closed = http(kalends, { authorize: signIn, hosts: ['app.example'] })
  const html = { accept: 'text/html' }
  const body = (text: string) =>
    new Request('http://localhost/', {
      method: 'POST',
      body: text,
      headers: { 'content-type': 'application/json' },
    })
  const limit = 10_000_000
  const atOnce = () => Promise.resolve()
  const redaction = new Redaction(['args.secret', 'args.*.key'])
  const settings = { task: 'x', timer: 'daily' }
  return {
    'the body, as text': { length: 50_000, step: (text) => readBody(body(text), limit, atOnce) },
    'the body, in a string': {
      length: 50_000,
      step: (text) => readBody(body(`{"a":"${text}`), limit, atOnce),
    },
    'the body, as args': {
      length: 20_000,
      step: (text) =>
        open(
          new Request('http://localhost/kalends/api/v1/schedules', {
            method: 'POST',
            body: JSON.stringify({ ...settings, args: { text }, [text]: 1 }),
            headers: { 'content-type': 'application/json' },
          }),
        ),
    },
    'the path': { length: 20_000, step: (text) => closed(request(`/${text}`)) },
    'the path, if it is short enough to be read': {
      length: 2000,
      times: 10,
      step: (text) => open(request(`/kalends/${text}`)),
    },
    'the path of the page': {
      length: 2000,
      times: 10,
      step: (text) => open(request(`/kalends/schedules/${text}`, html)),
    },
    'the path of a schedule': {
      length: 2000,
      times: 10,
      step: (text) => open(request(`/kalends/api/v1/schedules/${text}`)),
    },
    'the query': { length: 100_000, step: (text) => open(request(`/kalends/api/v1/me?${text}`)) },
    'the query, if it is short enough to be read': {
      length: 4000,
      times: 5,
      step: (text) => open(request(`/kalends/api/v1/me?${text}`)),
    },
    'the host': { length: 20_000, step: (text) => closed(request('/', { host: header(text) })) },
    'the token': {
      length: 20_000,
      step: (text) => signIn(request('/', { authorization: `Bearer ${header(text)}` }), {}),
    },
    'the origin': {
      length: 20_000,
      step: (text) =>
        open(
          new Request('http://localhost/kalends/api/v1/schedules', {
            method: 'POST',
            headers: { origin: header(text) },
          }),
        ),
    },
    'the type of the body': {
      length: 20_000,
      step: (text) =>
        readBody(
          new Request('http://localhost/', {
            method: 'POST',
            body: '{}',
            headers: { 'content-type': `application/${header(text)}` },
          }),
          limit,
          atOnce,
        ),
    },
    'the encodings of a file': {
      length: 2000,
      times: 10,
      step: (text) => open(request('/kalends/icon.svg', { 'accept-encoding': header(text) })),
    },
    'a timer': { length: 500, times: 10, step: (text) => checkTimer(text) },
    'a cron timer': { length: 500, times: 10, step: (text) => checkTimer(`cron ${text}`) },
    'a line of a crontab': { length: 500, times: 10, step: (text) => fromCrontab(text) },
    'a cron field': { length: 500, times: 10, step: (text) => checkTimer(`cron ${text}1 * * * *`) },
    'a span': { length: 20_000, step: (text) => timeSpan(text) },
    'a span of a timer': { length: 500, times: 10, step: (text) => checkTimer(`every ${text}`) },
    'a span after finish': {
      length: 500,
      times: 10,
      step: (text) => checkTimer(`every ${text} after finish`),
    },
    'a date': { length: 5000, step: (text) => calendar(`${text}1-1 00:00`) },
    'a time': { length: 5000, step: (text) => calendar(`*:${text}1:00`) },
    'fractions of a second': { length: 500, times: 10, step: (text) => checkTimer(`*:*:${text}1.5`) },
    'a zone': { length: 500, times: 10, step: (text) => checkTimer(`daily ${text}`, { zone: text }) },
    'a timer in words': { length: 500, times: 10, step: (text) => inWords(timer(`*-*-${text}1 00:00`)) },
    'args, as they are stored': {
      length: 50_000,
      step: (text) => jsonText('args', { [text]: [text] }, { loneSurrogates: 'replace' }),
    },
    'secrets of the args': {
      length: 5000,
      step: (text) => redaction.secretsOf({ args: { secret: text } }).hiddenInText(text.slice(1)),
    },
    'a text with a secret': {
      length: 20_000,
      step: (text) => redaction.secretsOf({ args: { secret: SECRET } }).hiddenInText(text),
    },
    'args that are shown and sent back': {
      length: 4000,
      step: (text) => {
        const args = { secret: 'hidden-one', list: text.split(/[,/ ]/).map((key) => ({ key })) }
        return redaction.restored('args', redaction.redacted('args', args), args)
      },
    },
    'names that contain secrets': {
      length: 1000,
      step: (text) => {
        const names = Object.fromEntries(text.split('').map((character, at) => [`${at} ${character}`, at]))
        return redaction.secretsOf({ truncated: { args: 1 } }).hiddenIn({ ...names, '[redacted]': 0 })
      },
    },
    'an error': { length: 50_000, step: errorTextForOwner },
    'a line of a log': { length: 50_000, step: logTextForOwner },
    'the URL of a database': { length: 50_000, step: (text) => Kalends.open(text.replaceAll(':', '.')) },
    'a literal of SQL': {
      length: 50_000,
      step: (text) => withLiterals('SELECT ?', [text], 'utf8mb4_0900_bin'),
    },
  }
}

/** The CPU time of the case with this text, in milliseconds. */
async function costOf({ step, times = 1 }: Case, text: string): Promise<number> {
  const before = process.cpuUsage()
  for (let time = 0; time < times; time += 1) {
    try {
      await step(text)
    } catch {
      // Most inputs are rejected on purpose.
    }
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

const GROWTH = 4
/** Linear growth is 4, quadratic growth is 16. */
const MAX_GROWTH = 10
/** Measurements below this are not meaningful. At the lengths of the cases, a quadratic step exceeds it. */
const NOISE_MS = 20
const ROUNDS = 12
/** If measurements exceed this repeatedly, other load on the machine cannot be the reason. */
const BEYOND_DOUBT_MS = 50 * NOISE_MS

/** Rounds continue only while the lowest measurements look quadratic, because other load only adds to the cost. */
async function growthOf(one: Case, text: (length: number) => string): Promise<number> {
  const [short, long] = [text(one.length), text(GROWTH * one.length)]
  let least = { short: Infinity, long: Infinity }
  for (let round = 0; round < ROUNDS; round += 1) {
    least = {
      short: Math.min(least.short, await costOf(one, short)),
      long: Math.min(least.long, await costOf(one, long)),
    }
    if (least.long < NOISE_MS || least.long < MAX_GROWTH * least.short) return 1
    if (round > 1 && least.long > BEYOND_DOUBT_MS) break
  }
  return least.long / least.short
}

describe('the cost of an input grows no faster than its length', async () => {
  const all = await cases()
  it.each(Object.entries(all))('%s [L47]', async (_name, one) => {
    const problems: string[] = []
    for (const [name, text] of Object.entries(HOSTILE)) {
      const growth = await growthOf(one, text)
      if (growth >= MAX_GROWTH)
        problems.push(`${name}: ${GROWTH} times the text costs ${growth.toFixed(1)} times as much`)
    }
    expect(problems).toEqual([])
  })

  it('a quadratic step is detected', async () => {
    const quadratic = { length: 8000, step: (text: string) => text.replace(/\/+$/, '') }
    expect(await growthOf(quadratic, (length) => `${'/'.repeat(length)}!`)).toBeGreaterThan(MAX_GROWTH)
  })
})
