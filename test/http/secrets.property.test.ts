/** A secret at any `redact` path appears in no output about its job. */
import { inspect } from 'node:util'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { task } from '../../src/index.ts'
import { collect, ended } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'
import { runs } from '../support/runs.ts'
import { apiScene, placesOf } from './scene.ts'

/** A path, and a value that contains a secret at that path, as a value or as a name. */
const PLACES: Readonly<Record<string, (secret: string) => unknown>> = {
  'args.secret': (secret) => ({ secret }),
  'args.users.key': (key) => ({ users: [{ key: 'another' }, { key }] }),
  'args.*.pin': (pin) => ({ a: { pin } }),
  'args.map': (name) => ({ map: { deep: [{ [name]: 1 }] } }),
  args: (secret) => [secret],
  'progress.token': (token) => ({ token }),
  'progress.map': (name) => ({ map: { [name]: true } }),
  progress: (secret) => secret,
  'result.token': (token) => ({ token }),
  'result.list.*': (secret) => ({ list: [1, secret] }),
  'result.map': (name) => ({ map: { [name]: null } }),
  result: (secret) => secret,
}

/** Long enough to be redacted, and unlike anything else in the output. */
const secretText = fc
  .array(fc.constantFrom('"', '\\', ' ', '/', 'ä', '漢', '😀', '%', '&', 'k', 'Q', '7'), { maxLength: 12 })
  .map((characters) => `x-1${characters.join('')}S9-`)

/** The forms in which a string may quote the secret. */
const formsOf = (secret: string) => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  encodeURIComponent(secret),
  encodeURIComponent(secret).replaceAll('%20', '+'),
]

/** A string that contains the secret in every form. */
const textWith = (secret: string) =>
  `login ${formsOf(secret).join(' | ')} ${JSON.stringify({ [secret]: [secret] })} .`

/** Adds values that contain the secret, if the value is an object. */
const besides = (value: unknown, secret: string) =>
  typeof value === 'object' && !Array.isArray(value)
    ? { ...value, note: textWith(secret), [`of ${secret}`]: [{ [secret]: secret }] }
    : value

eachDatabase((under) => {
  it('a secret at any `redact` path appears in no error, log line, event, process log or response [V6]', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...Object.keys(PLACES)),
        fc.uniqueArray(secretText, { minLength: 2, maxLength: 2 }),
        async (path, [earlier = '', secret = '']) => {
          const [root = ''] = path.split('.', 1)
          const valueWith = PLACES[path] ?? (() => null)
          const { call, kalends, database, lines } = await apiScene(under, {}, { redact: [path] })
          const events = [collect(kalends, 'started'), collect(kalends, 'settled')]
          const said = root === 'progress' ? `${textWith(earlier)} ${textWith(secret)}` : textWith(secret)
          let isRejected = true
          const result = {
            '~standard': {
              version: 1 as const,
              vendor: 'test',
              validate: (value: unknown) =>
                isRejected
                  ? { issues: [{ message: `rejected: ${JSON.stringify(value)} ${said}` }] }
                  : { value },
            },
          }
          kalends.handle(
            task('login', { retries: 1, retryDelay: 1, result }),
            ({ attempt, log, progress }) => {
              // Kalends does not know the secrets of progress and results yet.
              log.info(`early ${said}`)
              if (root === 'progress') {
                progress(valueWith(earlier))
                // Later progress contains the earlier secret in another place.
                progress(besides(valueWith(secret), earlier))
                progress(besides(valueWith(secret), secret))
              } else progress({ note: root === 'args' ? said : 'no secret yet' })
              log.info(said)
              // The secrets of a result are known only once it exists.
              if (attempt === 1)
                throw new Error(root === 'result' ? 'again' : said, {
                  cause: new Error(root === 'result' ? 'later' : said),
                })
              return root === 'result'
                ? besides(valueWith(secret), secret)
                : { note: said, [`of ${earlier}`]: root === 'progress' ? [earlier] : 1 }
            },
          )
          const args = root === 'args' ? valueWith(secret) : {}
          await call('PUT /api/v1/schedules/s', { body: { task: 'login', timer: 'yearly', args } })
          await kalends.start()
          const failed = await ended(kalends, (await call('POST /api/v1/schedules/s/run')).body.jobId)
          expect(failed).toMatchObject({ state: 'failed', reason: 'permanent' })
          const outputs: Record<string, string> = {}
          const look = async (id: string) => {
            outputs[`lines ${id}`] = JSON.stringify(await kalends.jobs.logs(id))
            for (const at of placesOf(id)) {
              const { status, text } = await call(`GET /api/v1/${at}`)
              expect([at, status]).toEqual([at, 200])
              outputs[at] = text
            }
          }
          const rows = async (name: string) => {
            outputs[name] = JSON.stringify([
              await database.query('SELECT error, reason FROM job'),
              await database.query('SELECT error FROM attempt'),
              await database.query('SELECT last_error FROM periodic_task'),
              await database.query('SELECT message FROM job_log'),
            ])
          }
          // A rejected result is not stored, so its secrets are unknown afterwards.
          if (root !== 'result') await look(failed.id)
          await rows('rows of a failure')
          expect(outputs['rows of a failure']).toContain('[redacted]')
          isRejected = false
          const succeeded = await ended(kalends, (await call('POST /api/v1/schedules/s/run')).body.jobId)
          expect(succeeded.state).toBe('success')
          await look(succeeded.id)
          await rows('rows of a success')
          outputs['events'] = JSON.stringify(events)
          outputs['process log'] = inspect(lines, { depth: 10 })
          for (const [place, output] of Object.entries(outputs)) {
            // JSON inside a JSON string is escaped once more.
            const plain = output.replaceAll('\\\\', '\\').replaceAll('\\"', '"')
            for (const one of root === 'progress' ? [earlier, secret] : [secret])
              for (const form of formsOf(one))
                for (const text of [output, plain])
                  expect([place, text.includes(form), text]).toEqual([place, false, text])
          }
          await kalends.stop({ grace: 0 })
        },
      ),
      {
        // On a server, each run takes a second, so only the examples run.
        numRuns: under.kind === 'sqlite' ? runs(150).numRuns : Object.keys(PLACES).length,
        examples: Object.keys(PLACES).map((path) => [path, ['x-1earlierS9-', 'x-1"se cret"S9-']]),
      },
    )
  })
})
