import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'

/*
 * The arrows of the design: the allowed imports. A new arrow changes the design, so its reason belongs in
 * docs/decisions.md.
 */
const BASE = ['duration', 'errors', 'event-loop', 'events', 'loop', 'logger', 'keys', 'nearest', 'json-scan']
const PARTS = ['schedules', 'jobs', 'views', 'scheduler', 'executor']
const INNER = ['calendar', 'timer', 'settings', 'model', 'store interface', 'store', ...PARTS, ...BASE]
/** The files directly in src/, each of which has its own place in the design. */
const ROOT_FILES = [
  'options',
  'definitions',
  'lifecycle',
  'scopes',
  'freezes',
  'kalends',
  'periodic-scheduler',
  'index',
  ...BASE,
]

const ARROWS: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(BASE.map((file) => [file, []])),
  keys: ['errors', 'nearest'],
  // The default logger prints errors.
  logger: ['errors'],
  // Written by scripts/generate.mjs: the version, the migrations, the parts of the tables, the page.
  generated: [],
  calendar: ['nearest'],
  timer: ['calendar', ...BASE],
  // Flags, schemas, columns and documents derive from this plain data, which can be loaded alone.
  settings: [],
  model: ['settings', 'timer', 'generated', ...BASE],
  // The tables for applications that use drizzle. The migrations are generated from the same tables.
  drizzle: ['settings', 'model'],
  'store interface': ['settings', 'model', ...BASE],
  store: ['store interface', 'settings', 'model', 'generated', ...BASE],
  ...Object.fromEntries(PARTS.map((part) => [part, ['store interface', 'settings', 'model', ...BASE]])),
  // Schedules read, write and preview timers themselves: the planner does not return elapses.
  schedules: ['store interface', 'settings', 'model', 'timer', ...BASE],
  // Views preview elapses.
  views: ['store interface', 'settings', 'model', 'timer', ...BASE],
  // A takeover writes the outcomes of lost attempts, as the executor does.
  'worker part': ['executor', 'store interface', 'settings', 'model', ...BASE],
  // A worker writes sets of declared schedules to the database.
  worker: [
    'generated',
    'worker part',
    'scheduler',
    'executor',
    'schedules',
    'store interface',
    'settings',
    'model',
    ...BASE,
  ],
  options: ['executor', 'jobs', 'store interface', 'store', 'timer', 'settings', 'model', ...BASE],
  definitions: ['executor', 'jobs', 'schedules', 'store interface', 'model', ...BASE],
  lifecycle: [
    'definitions',
    'options',
    'worker',
    'worker part',
    'schedules',
    'store interface',
    'model',
    ...BASE,
  ],
  scopes: [
    'definitions',
    'freezes',
    'lifecycle',
    'options',
    'worker part',
    'schedules',
    'jobs',
    'views',
    'store interface',
    'model',
    ...BASE,
  ],
  freezes: ['schedules', 'jobs', 'views', 'store interface', 'settings', 'model', ...BASE],
  kalends: [...INNER, 'options', 'definitions', 'lifecycle', 'scopes', 'freezes', 'worker part'],
  'periodic-scheduler': [
    'kalends',
    'options',
    'schedules',
    'jobs',
    'executor',
    'store',
    'worker part',
    'model',
    ...BASE,
  ],
  index: [...INNER, 'options', 'scopes', 'freezes', 'worker part', 'kalends', 'periodic-scheduler'],
  // The API checks timers before their schedules exist, and serves the metrics.
  http: ['kalends', 'index', 'settings', 'calendar', 'timer', 'telemetry', 'generated', ...BASE],
  cli: ['kalends', 'index', 'settings', 'calendar', 'timer', 'http', 'generated', ...BASE],
  // The test kit accepts the options of `Kalends.open`, except those that it sets itself.
  testing: ['kalends', 'index', 'options', 'timer', ...BASE],
  telemetry: ['index', 'errors'],
  // The page phrases durations and relative times as the command line and doctor do, and its form and filters derive
  // from the settings.
  ui: ['duration', 'settings', 'generated'],
}

/** The place of a file in the design, such as `model`; undefined if it has none. */
function placeOf(file: string): string | undefined {
  if (/^src\/model\/(settings|setting-table|columns|filters|states)\.ts$/.test(file)) return 'settings'
  const [, first = '', second, ...deeper] = file.split('/')
  if (second === undefined) {
    const name = first.replace(/\.tsx?$/, '')
    return ROOT_FILES.includes(name) ? name : undefined
  }
  if (first === 'worker') return /^(?:worker|declarations)\.ts$/.test(second) ? 'worker' : 'worker part'
  if (first !== 'store') return first in ARROWS ? first : undefined
  return deeper.length === 0 && /^refusal\.ts$|(?:^|-)store\.ts$/.test(second) ? 'store interface' : 'store'
}

/** An import cycle, or null if there is none. */
function cycleIn(imports: ReadonlyMap<string, readonly string[]>): readonly string[] | null {
  const done = new Set<string>()
  const visit = (file: string, way: readonly string[]): readonly string[] | null => {
    if (way.includes(file)) return [...way.slice(way.indexOf(file)), file]
    if (done.has(file)) return null
    for (const next of imports.get(file) ?? []) {
      const found = visit(next, [...way, file])
      if (found !== null) return found
    }
    done.add(file)
    return null
  }
  for (const file of imports.keys()) {
    const found = visit(file, [])
    if (found !== null) return found
  }
  return null
}

/** The problems with a file's imports, as sentences. */
function problems(file: string, imports: readonly string[]): string[] {
  const place = placeOf(file)
  if (place === undefined) return [`${file} has no place in the design`]
  const allowed = [place, ...(ARROWS[place] ?? [])]
  return imports
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => posix.join(posix.dirname(file), specifier))
    .filter((target) => !allowed.includes(placeOf(target) ?? ''))
    .map((target) => `${file} (${place}) must not import ${target} (${placeOf(target) ?? 'no place'})`)
}

function parse(file: string, text: string): ts.SourceFile {
  return ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
}

function nodesOf(source: ts.SourceFile): ts.Node[] {
  const nodes: ts.Node[] = []
  const visit = (node: ts.Node): void => {
    nodes.push(node)
    ts.forEachChild(node, visit)
  }
  visit(source)
  return nodes
}

/** Everything that a file imports, by import statements, re-exports, and `import()` calls and types. */
function importsOf(source: ts.SourceFile): string[] {
  return nodesOf(source).flatMap((node) => {
    let specifier: ts.Node | undefined
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) specifier = node.moduleSpecifier
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
      specifier = node.arguments[0]
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
      specifier = node.argument.literal
    return specifier !== undefined && ts.isStringLiteralLike(specifier) ? [specifier.text] : []
  })
}

/** Uses of the clock, randomness and the process, none of which pure files may contain. */
function impurities(source: ts.SourceFile): string[] {
  return nodesOf(source)
    .filter(
      (node) =>
        (ts.isPropertyAccessExpression(node) &&
          /^(?:Date\.now|Math\.random|performance\.\w+|process\.\w+)$/.test(node.getText())) ||
        (ts.isNewExpression(node) && node.getText() === 'new Date()') ||
        (ts.isCallExpression(node) &&
          /^(?:Date|setTimeout|setInterval|fetch)$/.test(node.expression.getText())),
    )
    .map((node) => node.getText())
}

/** Whether the code, apart from comments, names a database. */
function namesDatabase(source: ts.SourceFile): boolean {
  return nodesOf(source).some(
    (node) => node.getChildCount() === 0 && /mysql|mariadb|sqlite|postgres/i.test(node.getText()),
  )
}

const root = join(import.meta.dirname, '..')
const sources: ReadonlyMap<string, ts.SourceFile> = new Map(
  readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => `src/${file.replaceAll('\\', '/')}`)
    .map((file) => [file, parse(file, readFileSync(join(root, file), 'utf8'))]),
)

/** The files at or below this path. */
function filesIn(path: string): [string, ts.SourceFile][] {
  return [...sources].filter(([file]) => file === path || file.startsWith(`${path}/`))
}

describe('the source follows the design', () => {
  test('every import follows an arrow in the design', () => {
    expect([...sources].flatMap(([file, source]) => problems(file, importsOf(source)))).toEqual([])
  })

  test('there are no import cycles, not even for types', () => {
    const imports = new Map(
      [...sources].map(([file, source]) => [
        file,
        importsOf(source)
          .filter((specifier) => specifier.startsWith('.'))
          .map((specifier) => posix.join(posix.dirname(file), specifier)),
      ]),
    )
    expect(cycleIn(imports)).toBeNull()
  })

  test('index files only re-export', () => {
    for (const file of ['src/index.ts', 'src/calendar/index.ts', 'src/timer/index.ts']) {
      const source = sources.get(file)
      const other = source?.statements.filter(
        (statement) => !ts.isExportDeclaration(statement) || statement.moduleSpecifier === undefined,
      )
      expect(other?.map((statement) => statement.getText()) ?? [], file).toEqual([])
    }
  })

  test('the calendar, timers and the model import no packages, and only pure functions from Node.js', () => {
    const pure = [
      'src/model/jitter.ts → node:crypto',
      'src/model/occurrence.ts → node:crypto',
      'src/model/owner.ts → node:crypto',
      'src/model/redaction.ts → node:util',
      'src/model/schedule.ts → node:crypto',
      'src/model/schedule.ts → node:util',
    ]
    const outside = ['src/calendar', 'src/timer', 'src/model']
      .flatMap((folder) => filesIn(folder))
      .flatMap(([file, source]) => importsOf(source).map((specifier) => `${file} → ${specifier}`))
      .filter((arrow) => !arrow.includes('→ .') && !pure.includes(arrow))
    expect(outside).toEqual([])
  })

  test('inside store/, statements and dialects do not import each other', () => {
    const importsIn = (folder: string) =>
      filesIn(folder).flatMap(([file, source]) =>
        importsOf(source)
          .filter((specifier) => specifier.startsWith('.'))
          .map((specifier) => `${file} → ${join(dirname(file), specifier)}`),
      )
    const statements = importsIn('src/store/sql').filter((arrow) =>
      /→ .*\/((mysql|sqlite)\/|(open|migrate)\.ts)/.test(arrow),
    )
    const dialects = ['mysql', 'sqlite'].flatMap((name) => importsIn(`src/store/${name}`))
    expect([...statements, ...dialects.filter((arrow) => /→ .*\/sql\//.test(arrow))]).toEqual([])
    expect(dialects.length).toBeGreaterThan(10)
  })

  test('statements, rules, views and the API know no particular database', () => {
    const named = [
      'store/sql',
      'model',
      'http',
      'views',
      'schedules',
      'jobs',
      'worker',
      'executor',
      'scheduler',
    ]
      .flatMap((folder) => filesIn(`src/${folder}`))
      .filter(([, source]) => namesDatabase(source))
      .map(([file]) => file)
    expect(named).toEqual([])
    expect(namesDatabase(parse('made-up.ts', '/** On MySQL. */ const a = 1 // SQLite'))).toBe(false)
    expect(namesDatabase(parse('made-up.ts', "if (kind === 'sqlite') a()"))).toBe(true)
    expect(namesDatabase(parse('made-up.ts', 'const text = `${isMariadb}`'))).toBe(true)
  })

  test('only the drizzle tables need drizzle, which is optional', () => {
    const users = [...sources]
      .filter(([, source]) => importsOf(source).some((specifier) => specifier.startsWith('drizzle-orm')))
      .map(([file]) => file)
    expect(users).toEqual(['mysql', 'shared', 'sqlite'].map((name) => `src/drizzle/${name}.ts`))
  })

  test('the planner imports only timers, columns, settings, and the rules for jitter and for a clock that is ahead', () => {
    const files = ['plan', 'planning', 'decide', 'thaw', 'due-slots']
    const imports = files.flatMap((name) =>
      [...(sources.get(`src/model/${name}.ts`)?.statements ?? [])]
        .filter((node) => ts.isImportDeclaration(node))
        .filter((node) => node.importClause?.phaseModifier !== ts.SyntaxKind.TypeKeyword)
        .map((node) => node.moduleSpecifier.getText().slice(1, -1)),
    )
    const own = files.map((name) => `./${name}.ts`)
    expect(imports.filter((specifier) => !own.includes(specifier))).toEqual([
      '../timer/index.ts',
      './clock-ahead.ts',
      './jitter.ts',
      './columns.ts',
      './settings.ts',
    ])
  })

  test('the planner and all other rules get time and randomness as arguments [L22]', () => {
    const found = [...filesIn('src/model'), ...filesIn('src/timer'), ...filesIn('src/calendar')].flatMap(
      ([file, source]) => impurities(source).map((text) => `${file}: ${text}`),
    )
    // In the public API, calendar and timer previews start at the current time by default.
    const defaults = ['src/calendar/calendar.ts: new Date()', 'src/timer/check.ts: new Date()']
    expect(found.filter((text) => !defaults.includes(text))).toEqual([])
  })
})

describe('the check itself', () => {
  test.each([
    ['src/calendar/spec.ts', '../errors.ts'],
    ['src/calendar/spec.ts', '../timer/index.ts'],
    ['src/timer/timer.ts', '../model/job.ts'],
    ['src/model/plan.ts', '../calendar/index.ts'],
    ['src/model/plan.ts', '../store/store.ts'],
    ['src/store/job-store.ts', './database.ts'],
    ['src/store/sql/jobs.ts', '../../jobs/jobs.ts'],
    ['src/store/sql/jobs.ts', '../../timer/index.ts'],
    ['src/jobs/jobs.ts', '../store/database.ts'],
    ['src/jobs/jobs.ts', '../store/sql/jobs.ts'],
    ['src/jobs/jobs.ts', '../schedules/schedules.ts'],
    ['src/scheduler/scheduler.ts', '../executor/job-executor.ts'],
    ['src/executor/attempt-runner.ts', '../store/open.ts'],
    ['src/executor/attempt-runner.ts', '../kalends.ts'],
    ['src/executor/job-executor.ts', '../scheduler/scheduler.ts'],
    ['src/executor/job-executor.ts', '../worker/membership.ts'],
    ['src/scheduler/scheduler.ts', '../worker/watch.ts'],
    ['src/kalends.ts', './http/http.ts'],
    ['src/worker/watch.ts', '../scheduler/scheduler.ts'],
    ['src/worker/watch.ts', './worker.ts'],
    ['src/worker/worker.ts', '../store/open.ts'],
    ['src/worker/worker.ts', '../jobs/jobs.ts'],
    ['src/worker/worker.ts', '../kalends.ts'],
    ['src/loop.ts', './errors.ts'],
    ['src/http/http.ts', '../store/store.ts'],
    ['src/cli/main.ts', '../model/plan.ts'],
    ['src/model/settings.ts', './schedule.ts'],
    ['src/ui/page.ts', '../model/plan.ts'],
    ['src/ui/page.ts', '../errors.ts'],
    ['src/ui/page.ts', '../kalends.ts'],
    ['src/model/plan.ts', '../nowhere/at-all.ts'],
  ])('%s must not import %s', (file, specifier) => {
    expect(problems(file, [specifier])).toHaveLength(1)
  })

  test.each([
    ['src/model/plan.ts', '../timer/index.ts'],
    ['src/model/plan.ts', '../errors.ts'],
    ['src/store/sql/jobs.ts', '../job-store.ts'],
    ['src/executor/attempt-runner.ts', '../store/executing-store.ts'],
    ['src/worker/worker.ts', '../scheduler/scheduler.ts'],
    ['src/worker/worker.ts', '../executor/job-executor.ts'],
    ['src/worker/worker.ts', './watch.ts'],
    ['src/kalends.ts', './store/open.ts'],
    ['src/cli/calendar.ts', '../calendar/index.ts'],
    ['src/cli/schedules/settings.ts', '../../model/settings.ts'],
    ['src/http/http.ts', '../kalends.ts'],
    ['src/http/http.ts', 'node:http'],
    ['src/ui/page.ts', '../duration.ts'],
    ['src/ui/page.ts', '../model/settings.ts'],
  ])('%s may import %s', (file, specifier) => {
    expect(problems(file, [specifier])).toEqual([])
  })

  test('finds cycles and nothing else', () => {
    expect(
      cycleIn(
        new Map([
          ['a', ['b', 'c']],
          ['b', ['c']],
          ['c', []],
        ]),
      ),
    ).toBeNull()
    expect(
      cycleIn(
        new Map([
          ['a', ['b']],
          ['b', ['c', 'd']],
          ['d', ['b']],
        ]),
      ),
    ).toEqual(['b', 'd', 'b'])
  })

  test('finds a file that has no place in the design', () => {
    expect(problems('src/helpers.ts', [])).toEqual(['src/helpers.ts has no place in the design'])
    expect(problems('src/utils/strings.ts', [])).toHaveLength(1)
  })

  test('finds every kind of import', () => {
    const text = `import './a.ts'
      import type { B } from './b.ts'
      export * from './c.ts'
      export type { D } from './d.ts'
      const e = await import('./e.ts')
      type F = import('./f.ts').F`
    expect(importsOf(parse('made-up.ts', text))).toEqual([
      './a.ts',
      './b.ts',
      './c.ts',
      './d.ts',
      './e.ts',
      './f.ts',
    ])
  })

  test('finds every use of the clock, of randomness and of the process', () => {
    const text =
      'Date.now(); Math.random(); new Date(); Date(); process.env; setTimeout(f); new Date(5); Math.max(1)'
    expect(impurities(parse('made-up.ts', text))).toEqual([
      'Date.now',
      'Math.random',
      'new Date()',
      'Date()',
      'process.env',
      'setTimeout(f)',
    ])
  })
})

test('no statement suppresses database errors, and only that for attempts overwrites a row [L38]', () => {
  const filesWith = (text: RegExp) =>
    [...sources].filter(([, source]) => text.test(source.text)).map(([file]) => file)
  expect(filesWith(/\b(?:INSERT (?:OR )?IGNORE|REPLACE INTO)\b/)).toEqual([])
  expect(filesWith(/\b(?:ON DUPLICATE KEY|ON CONFLICT)\b/)).toEqual([
    'src/store/mysql/dialect.ts',
    'src/store/sqlite/dialect.ts',
  ])
  expect(filesWith(/\borOverwrite\(/)).toEqual(['src/store/sql/settle.ts'])
})
