/** Arbitrary requests never cause a 5xx, and every rejection has the documented format. */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { operations } from '../../src/http/operations.ts'
import { ProblemDetails } from '../../src/http/answer-schemas.ts'
import { apiScene, SITE } from '../http/scene.ts'
import { eachDatabase } from '../support/databases.ts'

const SEED = Number(process.env['KALENDS_SEED'] ?? 20261121)
const RUNS = Number(process.env['KALENDS_FUZZ_RUNS'] ?? 400)

const bytes = (text: string) => new Uint8Array(Buffer.from(text))
const BODIES: readonly Uint8Array[] = [
  ...[
    '',
    ' ',
    '{',
    '}',
    '[]',
    'null',
    'true',
    '5',
    '"text"',
    '{"task":"x","timer":"daily"',
    '{"task":"x",}',
    '{"task":"x","task":"y","timer":"daily"}',
    '{"__proto__":{"task":"x"},"timer":"daily"}',
    '{"constructor":{"prototype":{"x":1}},"task":"x","timer":"daily"}',
    '{"task":"x","timer":"daily","args":{"__proto__":{"polluted":1}}}',
    '{"task":1e999,"timer":[]}',
    '{"task":"x","timer":"daily","priority":12345678901234567890}',
    '{"task":"\\ud800","timer":"daily"}',
    '{"task":"x\\u0000","timer":"daily"}',
    `{"task":"x","timer":"${'a'.repeat(1_000_000)}"}`,
    `{"task":"x","timer":"daily","args":"${'a'.repeat(1_000_000)}"}`,
    `{"task":"x","timer":"daily","args":${'['.repeat(50_000)}${']'.repeat(50_000)}}`,
    `{"task":"x","timer":"daily","args":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`,
    '[' + '1,'.repeat(100_000) + '1]',
    '\ufeff{"task":"x","timer":"daily"}',
  ].map(bytes),
  new Uint8Array([0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]),
  new Uint8Array([0x7b, 0x22, 0xc3, 0x28, 0x22, 0x3a, 0x31, 0x7d]),
  new Uint8Array(1000),
]

const segment = fc.oneof(
  fc.constantFrom(
    'api',
    'v1',
    'schedules',
    'jobs',
    'own',
    'run',
    '..',
    '.',
    '',
    '%2e%2e',
    '%00',
    '%ff',
    '%',
    'x'.repeat(9000),
    '__proto__',
    'constructor',
  ),
  fc
    .string({ unit: 'binary', maxLength: 12 })
    .map((text) => encodeURIComponent(Buffer.from(text).toString())),
)
const path = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.constantFrom(
      ...operations.filter(({ id }) => id !== 'followChanges').map((one) => one.path.replace('{id}', 'own')),
    ),
  },
  { weight: 1, arbitrary: fc.array(segment, { maxLength: 6 }).map((segments) => `/${segments.join('/')}`) },
  {
    weight: 1,
    arbitrary: fc.array(segment, { maxLength: 3 }).map((segments) => `/api/v1/${segments.join('/')}`),
  },
)
const query = fc.oneof(
  fc.constantFrom(
    '',
    '?',
    '?%',
    '?limit=1&limit=2',
    '?limit[]=1',
    '?__proto__=1',
    `?text=${'x'.repeat(9000)}`,
    '?timer=%ff',
    '?after=%00',
  ),
  fc.webQueryParameters().map((text) => `?${text}`),
)
const headers = fc.dictionary(
  fc.constantFrom(
    'content-type',
    'accept',
    'content-length',
    'content-encoding',
    'x-forwarded-for',
    'x-requested-with',
    'origin',
    'sec-fetch-site',
    'if-match',
    'last-event-id',
    'accept-encoding',
    'range',
    'prefer',
  ),
  fc.constantFrom(
    'application/json',
    'application/json; charset=utf-16',
    'text/plain',
    'multipart/form-data; boundary=x',
    'gzip',
    '-1',
    '99999999999',
    'null',
    '*',
    'same-origin',
    'cross-site',
    SITE,
    'x'.repeat(5000),
  ),
  { maxKeys: 3 },
)
const request = fc.record({
  method: fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'PROPFIND'),
  path,
  query,
  headers,
  body: fc.oneof(
    fc.constantFrom(...BODIES),
    fc.json({ maxDepth: 6 }).map(bytes),
    fc.uint8Array({ maxLength: 100 }),
    fc.constant(null),
  ),
})

eachDatabase((under) => {
  it(`no request causes a 5xx or an undocumented rejection, seed ${SEED}`, { timeout: 180_000 }, async () => {
    const { kalends, handler, lines } = await apiScene(under)
    await kalends.schedules.create({ id: 'own', task: 'mail', timer: 'daily' })
    await fc.assert(
      fc.asyncProperty(request, async ({ method, path: where, query: search, headers: given, body }) => {
        const hasBody = body !== null && method !== 'GET' && method !== 'HEAD'
        const response = await handler(
          new Request(SITE + where + search, {
            method,
            headers: { 'content-type': 'application/json', ...given, authorization: 'Bearer admin' },
            ...(hasBody && { body: new Uint8Array(body) }),
          }),
        )
        const text = await response.text()
        const what = `${response.status} ${text.slice(0, 300)} ${JSON.stringify(lines.at(-1))}`
        expect(response.status, what).toBeLessThan(500)
        if (response.status >= 400 && method !== 'HEAD' && where.startsWith('/api/')) {
          expect(response.headers.get('content-type'), what).toContain('application/problem+json')
          expect(ProblemDetails.safeParse(JSON.parse(text)).error, what).toBeUndefined()
        }
        expect(Reflect.get({}, 'polluted')).toBeUndefined()
      }),
      { numRuns: RUNS, seed: SEED, endOnFailure: true },
    )
  })
})
