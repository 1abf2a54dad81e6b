import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, test } from 'vitest'
import * as calendarErrors from '../../src/calendar/error.ts'
import * as errors from '../../src/errors.ts'
import * as timerErrors from '../../src/timer/error.ts'
import { eachDatabase } from '../support/databases.ts'
import { Kalends } from '../../src/index.ts'
import { TABLE_NAMES } from '../../src/store/sql/tables.ts'
import { pages, root } from './markdown.ts'

/** The formatter pads the cells of tables. */
const read = (file: string) => readFileSync(join(root, file), 'utf8').replaceAll(/ +/g, ' ')

/** The names and codes as the sources have them. */
function errorsOf(source: string): string[] {
  return [...source.matchAll(/class (\w+Error) extends \w*Error \{[^}]*?readonly code = '(\w+)'/g)].map(
    ([, name, code]) => `\`${name}\` | \`${code}\``,
  )
}

test('docs/errors.md has every error with its code, and no other', () => {
  const declared = ['src/errors.ts', 'src/calendar/error.ts', 'src/timer/error.ts'].flatMap((file) =>
    errorsOf(read(file)),
  )
  const exported = Object.keys({ ...errors, ...calendarErrors, ...timerErrors }).filter(
    (name) => name.endsWith('Error') && name !== 'KalendsError',
  )
  const names = declared.map((row) => row.split('`')[1])
  expect(new Set(names)).toEqual(new Set(exported))
  const documented = [...read('docs/errors.md').matchAll(/^\| (`\w+` \| `\w+`) \|/gm)].map(([, row]) => row)
  expect(new Set(documented)).toEqual(new Set(declared))
})

/** README.md is also shown by npm, where only absolute links work. */
const HERE =
  /^https:\/\/(?:raw\.githubusercontent\.com\/kalends\/kalends\/main|github\.com\/kalends\/kalends\/blob\/main)\//

interface Link {
  /** The page and the link, for people. */
  readonly text: string
  /** The file that it leads to. */
  readonly target: string
  readonly anchor: string
}

/** Links to files of the repository. */
function links(): Link[] {
  return pages().flatMap((page) =>
    [...readFileSync(page, 'utf8').matchAll(/\]\(([^)#]*)(?:#([^)]+))?\)/g)].flatMap(
      ([, link = '', anchor = '']) => {
        const text = `${relative(root, page)}: ${link}#${anchor}`
        if (HERE.test(link)) return [{ text, target: join(root, link.replace(HERE, '')), anchor }]
        if (/^[a-z]+:/.test(link)) return []
        return [{ text, target: link === '' ? page : join(dirname(page), link), anchor }]
      },
    ),
  )
}

test('links to pages and files of the package have a target', () => {
  expect(links().length).toBeGreaterThan(100)
  expect(links().filter(({ target }) => !existsSync(target))).toEqual([])
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  expect([...readme.matchAll(/\]\((?!https:|#)[^)]*\)/g)].map(([link]) => link)).toEqual([])
})

test('the README begins with the installation and the two commands', () => {
  const first = read('README.md').split('\n').slice(0, 40).join('\n')
  expect(first).toContain('npm install kalends')
  expect(first).toMatch(/```sh\nnpm ci && npm start\b.*\nnpm ci && npm test\b.*\n```/)
})

/** The anchors of the headings, as GitHub makes them. */
function anchorsOf(page: string): string[] {
  return [...readFileSync(page, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  )
}

test('links to headings have a target', () => {
  const broken = links().filter(
    ({ target, anchor }) => anchor !== '' && target.endsWith('.md') && !anchorsOf(target).includes(anchor),
  )
  expect(broken).toEqual([])
})

eachDatabase(({ kind, fresh }) => {
  test('docs/tables.md names every column of every table, and no other', async () => {
    const database = await fresh()
    await Kalends.migrate(database.url)
    const page = read('docs/tables.md')
    for (const table of TABLE_NAMES) {
      const [, text = ''] =
        new RegExp(`^## ${table}: [^\\n]*\\n([^]*?)(?=^## |$(?![^]))`, 'm').exec(page) ?? []
      const rows =
        kind === 'sqlite'
          ? await database.query(`SELECT name FROM pragma_table_xinfo('${table}')`)
          : await database.query(
              'SELECT column_name AS name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ?',
              [table],
            )
      const documented = [...text.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, names = '']) =>
        names.replaceAll('`', '').split(', '),
      )
      expect(documented.toSorted(), table).toEqual(rows.map((row) => String(row['name'])).toSorted())
    }
    await database.drop()
  })
})
