/**
 * Sample data for a larger application: 200 schedules and about 10,000 jobs, with failures, skips, long names and
 * non-Latin scripts. The seed is fixed, so that only the times differ from run to run.
 */
import { ADOPT, type TestDatabase } from '../support/databases.ts'
import { type Kalends, task } from '../../src/index.ts'
import { timer } from '../../src/timer/index.ts'

interface Kind {
  readonly task: string
  readonly ids: readonly string[]
  readonly timers: readonly string[]
  readonly summary: string
  readonly tookMs: number
  /** In percent. */
  readonly fails: number
  readonly errors: readonly string[]
  readonly args: (id: string) => Record<string, unknown>
}

const TENANTS = [
  'acme',
  'borealis',
  'contoso',
  'delphi',
  'evergreen',
  'fjord-shipping',
  'globex',
  'hikari',
  'iberia-foods',
  'juniper',
  'kestrel',
  'lumen',
]

const KINDS: readonly Kind[] = [
  {
    task: 'report.pdf',
    ids: TENANTS.map((tenant) => `weekly-report-${tenant}`),
    timers: ['Mon 06:30 Europe/Berlin', 'Mon 07:00 America/New_York', 'Fri 17:15 Asia/Tokyo'],
    summary: 'Renders the weekly report and stores it in the archive',
    tookMs: 42_000,
    fails: 3,
    errors: ['Timed out after 10min: chart service did not answer', 'ENOSPC: no space left on device, write'],
    args: (id) => ({
      tenant: id.slice(14),
      pages: 'all',
      format: 'A4',
      recipients: [`ops@${id.slice(14)}.example`],
    }),
  },
  {
    task: 'invoice.send',
    ids: TENANTS.map((tenant) => `invoices-${tenant}`),
    timers: ['*-*~1 18:00 Europe/Berlin', '*-*-01 06:00'],
    summary: 'Sends the invoices for the month',
    tookMs: 8_000,
    fails: 6,
    errors: [
      'SMTP 421: too many connections from your host',
      'InvoiceError: customer 88213 has no billing address\n    at assertAddress (/app/billing/address.js:41:11)\n    at async sendInvoice (/app/billing/send.js:88:5)\nCaused by: RowNotFound: billing_address where customer_id = 88213',
    ],
    args: (id) => ({ tenant: id.slice(9), currency: 'EUR', dryRun: false }),
  },
  {
    task: 'sync.inventory',
    ids: TENANTS.flatMap((tenant) => [`sync-inventory-${tenant}-eu`, `sync-inventory-${tenant}-us`]),
    timers: ['7..20:0/30', '*:10', 'every 45min'],
    summary: 'Copies stock levels from the warehouse to the shop',
    tookMs: 3_200,
    fails: 9,
    errors: ['connect ECONNREFUSED 10.4.0.17:5432', 'HTTP 503 from warehouse: maintenance until 04:00 UTC'],
    args: (id) => ({ shop: id.slice(15), since: 'last', batch: 500 }),
  },
  {
    task: 'db.backup',
    ids: ['backup-orders', 'backup-customers', 'backup-ledger', 'backup-audit', 'backup-media-index'],
    timers: ['02:00 Europe/Berlin', '02:40 Europe/Berlin', 'Sun 03:00 Europe/Berlin'],
    summary: 'Full dump, compressed and encrypted, kept for 35 days',
    tookMs: 540_000,
    fails: 2,
    errors: ['mysqldump: Got error 2013: Lost connection to MySQL server during query'],
    args: (id) => ({ database: id.slice(7), keepDays: 35, target: 's3://backups' }),
  },
  {
    task: 'cache.warm',
    ids: ['warm-home', 'warm-categories', 'warm-search', 'warm-product-pages'],
    timers: ['*:0/10', 'every 15min', '6..22:0/5:30'],
    summary: 'Fills the cache for the most visited pages',
    tookMs: 900,
    fails: 1,
    errors: ['TypeError: fetch failed'],
    args: (id) => ({ area: id.slice(5) }),
  },
  {
    task: 'mail.digest',
    ids: Array.from({ length: 90 }, (_, index) => `digest-user-${String(4100 + index * 37)}`),
    timers: [
      '08:00 Europe/Berlin',
      '08:00 America/Sao_Paulo',
      '07:30 Asia/Kolkata',
      '09:00 Australia/Lord_Howe',
    ],
    summary: 'The daily digest that this user subscribed to',
    tookMs: 700,
    fails: 2,
    errors: ['550 5.1.1 mailbox unavailable'],
    args: (id) => ({ user: Number(id.slice(12)), sections: ['mentions', 'due', 'news'] }),
  },
  {
    task: 'search.reindex',
    ids: ['reindex-products', 'reindex-articles', 'reindex-people'],
    timers: ['every 30min after finish', 'Sat 22:00'],
    summary: 'Builds a new search index alongside the one in use',
    tookMs: 780_000,
    fails: 4,
    errors: ['index lock is held by reindex-products/1f3a'],
    args: (id) => ({ index: id.slice(8), shards: 4 }),
  },
  {
    task: 'gdpr.erase',
    ids: ['erase-expired-accounts', 'erase-old-logs', 'erase-abandoned-carts'],
    timers: ['Mon..Fri 04:15 Europe/Berlin', 'daily'],
    summary: 'Deletes personal data whose retention period has ended',
    tookMs: 61_000,
    fails: 0,
    errors: [],
    args: () => ({ olderThan: '400d', limit: 50_000 }),
  },
  {
    task: 'billing.rates',
    ids: ['exchange-rates', 'vat-rates'],
    timers: ['cron 15 6,18 * * 1-5', 'cron 0 5 1 * *'],
    summary: 'Rates of the central bank',
    tookMs: 1_400,
    fails: 8,
    errors: ['Unexpected token < in JSON at position 0'],
    args: () => ({ source: 'ecb' }),
  },
  {
    task: '報告書.送信',
    ids: [
      '月次報告-東京',
      'rapport-mensuel-société-générale-d’électricité',
      'отчёт-за-неделю',
      'تقرير-يومي',
      'αναφορά',
    ],
    timers: [
      '*-*-01 09:00 Asia/Tokyo',
      'Mon 08:00 Europe/Paris',
      'Sun 20:00 Europe/Moscow',
      '06:00 Asia/Dubai',
    ],
    summary: '各部門への報告書を作成して送信します — une par filiale, le premier jour ouvré',
    tookMs: 15_000,
    fails: 5,
    errors: ['メールサーバーに接続できません (10.0.3.9)'],
    args: (id) => ({ 部門: id, 言語: 'ja' }),
  },
  {
    task: 'etl.nightly-consolidation-of-all-subsidiaries-and-their-branches',
    ids: [
      'consolidate:eu-central-1:ledger-and-sub-ledgers-including-intercompany-eliminations-and-currency-translation',
      'consolidate:ap-southeast-2:inventory-valuation',
    ],
    timers: [
      'Mon..Fri *-*-* 01:30:00 Europe/Zurich',
      'Tue,Thu,Sat *-01,04,07,10-* 03:05:00 Australia/Sydney',
    ],
    summary:
      'One very long run that everything else in the morning depends on; ask the finance team before touching it',
    tookMs: 3_900_000,
    fails: 7,
    errors: ['Deadlock found when trying to get lock; try restarting transaction (SQLState: 40001)'],
    args: () => ({ period: 'current', translate: true, eliminations: ['IC-01', 'IC-02', 'IC-07'] }),
  },
]

const IMPORTS: Kind = {
  task: 'orders.import',
  ids: [],
  timers: [],
  summary: 'Imports orders from the files of a marketplace',
  tookMs: 12_000,
  fails: 4,
  errors: ['SFTP: host key has changed', 'CSV line 4117: 12 columns expected, 11 found'],
  args: (id) => ({ marketplace: Number(id.slice(-2)), folder: '/outgoing', keep: true }),
}

/** How long the sample tasks run, in ms: a tenth of the usual time, so that screenshots show a few running jobs. */
export const TASKS: Readonly<Record<string, number>> = Object.fromEntries(
  [...KINDS, IMPORTS].map((kind) => [kind.task, kind.tookMs / 10]),
)

const DAY_MS = 86_400_000
const SCHEDULES = 200
const JOBS = 10_000

/** A generator of pseudorandom numbers from 0 to 1; the same seed always gives the same numbers. */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return state / 4_294_967_296
  }
}

/** @returns the ids of the schedules */
export async function fill(kalends: Kalends, database: TestDatabase, now: Date): Promise<string[]> {
  const next = random(7)
  const made: { id: string; kind: Kind; timer: string }[] = []
  for (const kind of KINDS)
    for (const [index, id] of kind.ids.entries())
      made.push({ id, kind, timer: kind.timers[index % kind.timers.length] ?? 'daily' })
  for (let index = 1; made.length < SCHEDULES; index += 1) {
    const kind = KINDS[index % 5] ?? KINDS[0]
    if (kind !== undefined)
      made.push({
        id: `${kind.task.replace('.', '-')}-${index}`,
        kind,
        timer: kind.timers[index % kind.timers.length] ?? 'daily',
      })
  }
  for (const { id, kind, timer } of made)
    await kalends.schedules.put(id, {
      task: task(kind.task),
      timer,
      args: kind.args(id),
      summary: kind.summary,
      group: kind.task.split('.')[0] ?? '',
      submitter: kind.task === 'mail.digest' ? `user ${id.slice(12)}` : null,
      overlap: kind.tookMs > 500_000 ? 'queue-one' : 'skip',
      ...(kind.tookMs > 100_000 && { timeout: '2h' }),
      jitter: kind.task === 'mail.digest' ? '10min' : 0,
    })
  await history(database, made, now, next)
  return made.map(({ id }) => id)
}

async function history(
  database: TestDatabase,
  made: readonly { id: string; kind: Kind; timer: string }[],
  now: Date,
  next: () => number,
): Promise<void> {
  const rows: unknown[][] = []
  const each = Math.ceil(JOBS / made.length)
  for (const { id, kind, timer: text } of made) {
    const event = timer(text).elapses(new Date(now.getTime() - 400 * DAY_MS))
    let at = event.previous(new Date(now.getTime() - 60_000))
    let errors = 0
    for (let run = each; run > 0 && at !== null; run -= 1) {
      const slot = at
      const fate = next() * 100
      const state =
        fate < kind.fails
          ? 'failed'
          : fate < kind.fails + 2
            ? 'skipped'
            : fate < kind.fails + 2.5
              ? 'cancelled'
              : 'success'
      const tookMs = Math.round(kind.tookMs * (0.6 + next() * 0.9) * (state === 'failed' ? 0.4 : 1))
      const started = new Date(slot.getTime() + Math.round(next() * 900))
      const error = state === 'failed' ? (kind.errors[Math.floor(next() * kind.errors.length)] ?? null) : null
      if (error !== null) errors += 1
      rows.push([
        uuid(slot, next),
        id,
        stored(slot),
        run,
        kind.task,
        kind.task.split('.')[0],
        JSON.stringify(kind.args(id)),
        state,
        state === 'skipped' ? 'overlap' : null,
        state === 'skipped' ? null : 'web-1/8c1f',
        state === 'skipped' ? 0 : state === 'failed' ? 4 : next() < 0.05 ? 2 : 1,
        stored(slot),
        state === 'skipped' ? null : stored(started),
        stored(state === 'skipped' ? slot : new Date(started.getTime() + tookMs)),
        state === 'success'
          ? JSON.stringify({ rows: Math.round(next() * 90_000), bytes: Math.round(next() * 4e8) })
          : null,
        error,
      ])
      at = event.previous(new Date(slot.getTime() - 1))
    }
    const last = event.previous(new Date(now.getTime() - 60_000))
    if (last !== null)
      await database.query(
        'UPDATE periodic_task SET run_count = ?, error_count = ?, last_run = ?, last_slot = ?, created = ? WHERE id = ?',
        [each, errors, stored(last), stored(last), stored(new Date(now.getTime() - 90 * DAY_MS)), id],
      )
  }
  const columns =
    'id, periodic_task_id, slot, run, task, group_, args, state, reason, worker, attempt, submitted, started, finished, result, error'
  const marks = `(${columns
    .split(', ')
    .map(() => '?')
    .join(', ')})`
  for (let start = 0; start < rows.length; start += 200) {
    const some = rows.slice(start, start + 200)
    await database.query(
      `INSERT INTO job (${columns}) VALUES ${some.map(() => marks).join(', ')}`,
      some.flat(),
    )
  }
  await database.query(ADOPT)
}

/**
 * Pauses, breaks or ends some schedules. Call this only after a scheduler has planned all schedules.
 * @param made  the ids of the schedules
 */
export async function states(database: TestDatabase, made: readonly string[]): Promise<void> {
  const pick = (index: number) => made[index] ?? ''
  for (const index of [14, 27, 61, 90])
    await database.query('UPDATE periodic_task SET enabled = 0 WHERE id = ?', [pick(index)])
  await database.query("UPDATE periodic_task SET timer = 'Mon..Fry 9:00' WHERE id = ?", [pick(19)])
  await database.query(
    "UPDATE periodic_task SET idle = 'dead', on_exhausted = 'stop', last_error = 'connect ECONNREFUSED 10.4.0.17:5432' WHERE id IN (?, ?)",
    [pick(30), pick(33)],
  )
  await database.query("UPDATE periodic_task SET idle = 'retired', declared_by = 'shop' WHERE id = ?", [
    pick(50),
  ])
  await database.query("UPDATE periodic_task SET declared_by = 'housekeeping' WHERE task = 'gdpr.erase'")
  await database.query("UPDATE periodic_task SET idle = 'done' WHERE id = ?", [pick(70)])
}

/** A UUID that begins with the time, like the ids that Kalends creates. */
function uuid(at: Date, next: () => number): string {
  const time = at.getTime().toString(16).padStart(12, '0')
  const hex = (length: number) => Array.from({ length }, () => Math.floor(next() * 16).toString(16)).join('')
  return `${time.slice(0, 8)}-${time.slice(8)}-8${hex(3)}-a${hex(3)}-${hex(12)}`
}

function stored(at: Date): string {
  return at.toISOString().replace('T', ' ').replace('Z', '')
}
