/** The default logger: warnings and errors on the console, escaped and folded. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { ConflictError, InvalidInputError, type Kalends } from '../src/index.ts'
import { consoleLogger } from '../src/logger.ts'
import { checkedOptions } from '../src/options.ts'
import { open as openTest } from '../src/testing/index.ts'

const lines: string[] = []

beforeEach(() => {
  lines.length = 0
  for (const level of ['warn', 'error', 'log', 'info', 'debug'] as const)
    vi.spyOn(console, level).mockImplementation((text: string) => void lines.push(`${level} ${text}`))
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

it('prints warnings and errors with their fields and the error, and nothing else [E4]', () => {
  const logger = consoleLogger()
  logger.debug({}, 'one')
  logger.info({}, 'two')
  logger.warn({ task: 'mail', scheduleId: null, attempt: 1, error: 'Error: no\n    at x' }, 'Attempt failed')
  logger.error({ err: new ConflictError('Busy', { cause: new Error('locked') }) }, 'The loop failed')
  expect(lines).toEqual([
    'warn kalends: Attempt failed (task=mail attempt=1)\n  Error: no\n    at x',
    'error kalends: The loop failed\n  ConflictError: Busy\n  Caused by: locked',
  ])
})

it('escapes control characters, indents further lines, and hides passwords in URLs', () => {
  const logger = consoleLogger()
  logger.warn({ error: 'a\u001b[2J\nkalends: forged' }, 'of mysql://root:s3cret@host/app')
  expect(lines).toEqual([
    String.raw`warn kalends: of mysql://root:***@host/app` + '\n  a\\x1b[2J\n  kalends: forged',
  ])
})

it('prints a repeated message once, and then its number once a minute', () => {
  const logger = consoleLogger()
  for (let attempt = 1; attempt <= 4; attempt += 1)
    logger.warn({ jobId: `0193abcd-0000-7000-8000-00000000000${attempt}`, attempt }, 'Attempt failed')
  logger.warn({}, 'Another')
  expect(lines).toHaveLength(2)
  vi.advanceTimersByTime(60_000)
  expect(lines.slice(2)).toEqual([`${lines[0]}\n  (repeated 3 times within a minute)`])
  logger.warn({ jobId: '0193abcd-0000-7000-8000-000000000009', attempt: 1 }, 'Attempt failed')
  expect(lines).toHaveLength(3)
  vi.advanceTimersByTime(60_000)
  expect(lines.at(-1)).toContain('(repeated once within a minute)')
  vi.advanceTimersByTime(120_000)
  expect(vi.getTimerCount()).toBe(0)
  logger.warn({ attempt: 7 }, 'Attempt failed')
  expect(lines).toHaveLength(5)
})

it('prints at most fifty different messages per minute, and the number of the others', () => {
  const logger = consoleLogger()
  const letters = Array.from({ length: 60 }, (_, index) => 'g'.repeat(index + 1))
  for (const name of letters) logger.error({ name }, 'The same text')
  expect(lines).toHaveLength(50)
  vi.advanceTimersByTime(60_000)
  expect(lines.slice(50)).toEqual(['warn kalends: 10 other messages within a minute were left out'])
})

it('repeated messages silence neither errors nor later messages', () => {
  const logger = consoleLogger()
  const repeat = () => {
    for (let index = 0; index < 50; index += 1) logger.warn({ name: 'g'.repeat(index + 1) }, 'Repeated')
  }
  repeat()
  logger.error({}, 'A new error')
  expect(lines.at(-1)).toBe('error kalends: A new error')
  for (let index = 0; index < 50; index += 1) logger.error({ name: 'g'.repeat(index + 1) }, 'Repeated')
  logger.error({}, 'Another error')
  expect(lines.at(-1)).toBe('error kalends: Another error')
  repeat()
  vi.advanceTimersByTime(60_000)
  repeat()
  logger.warn({}, 'A later warning')
  expect(lines.at(-1)).toBe('warn kalends: A later warning')
})

it('different names and error texts are different messages', () => {
  const logger = consoleLogger()
  const long = 'x'.repeat(600)
  for (const error of ['HTTP 404', 'HTTP 500', `${long} a`, `${long} b`]) logger.warn({ error }, 'Failed')
  for (const name of ['import1', 'import2']) logger.warn({ task: name }, 'Failed')
  expect(lines).toHaveLength(6)
})

it('hides passwords with any characters, and before the text is cut', () => {
  const logger = consoleLogger()
  const texts = [
    'mysql://root:pa/ss1@host/db',
    'mysql://root:p@ss1@host/db',
    '"mysql://h/db?password=ss1&x=1"',
    'access_token=ss1',
    'pwd="a ss1"',
    '{"secret":"ss1"}',
    `${'x'.repeat(3970)} mysql://root:${'ss1'.repeat(20)}@host/db`,
  ]
  for (const error of texts) logger.warn({ error }, 'Failed')
  expect(lines).toHaveLength(texts.length)
  expect(lines.join('\n')).not.toContain('ss1')
  expect(lines[2]).toContain('?password=***&x=1')
})

it('prints a message although its fields cannot be written or the console throws', () => {
  const logger = consoleLogger()
  const circular: Record<string, unknown> = {}
  circular['self'] = circular
  const throwing = {
    get bad() {
      throw new Error('no')
    },
  }
  const proxy = new Proxy(
    {},
    {
      ownKeys() {
        throw new Error('no')
      },
    },
  )
  for (const fields of [{ big: 5n }, { circular }, throwing, proxy]) logger.warn(fields, 'Here')
  expect(lines.map((line) => line.slice(0, 17))).toEqual(Array(4).fill('warn kalends: Her'))
  expect(lines[0]).toContain('big=5n')
  vi.spyOn(console, 'warn').mockImplementation(() => {
    throw new Error('broken console')
  })
  logger.warn({}, 'Again')
  logger.warn({}, 'Again')
  vi.advanceTimersByTime(60_000)
})

it('is the default: a handler that throws is printed, without the secrets of its args', async () => {
  vi.useRealTimers()
  const setup = (kalends: Kalends) =>
    kalends.handle('greet', ({ args }) => {
      throw new Error(`cannot log in with ${String(args['password'])}`)
    })
  await using app = await openTest(setup, { redact: ['args.password'] })
  await app.kalends.jobs.submit('greet', { password: 'hunter2' })
  await app.drain()
  expect(lines).toEqual([
    expect.stringMatching(/^warn kalends: .*task=greet[^]*cannot log in with \[redacted\]/),
  ])
})

it('is replaced by a logger, and switched off with false [E4]', async () => {
  vi.useRealTimers()
  const setup = (kalends: Kalends) => kalends.handle('greet', () => Promise.reject(new Error('no')))
  await using app = await openTest(setup, { logger: false })
  await app.kalends.jobs.submit('greet')
  await app.drain()
  expect(lines).toEqual([])
  for (const logger of [null, true, 5, 'console', {}, { warn: () => undefined }])
    expect(() => checkedOptions(Object.fromEntries([['logger', logger]]))).toThrow(InvalidInputError)
})
