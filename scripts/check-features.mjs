/**
 * Checks docs/features.md and docs/lessons.md: no row is missing, and each test that a row names exists. Run by
 * `npm run check:features` and by test/docs.
 *
 * The last cell has one or more of `file` title, separated by line breaks; or a sentence that begins with
 * "Cannot happen:" if no test could fail.
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { titlesIn } from './titles.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const upTo = (letter, count) => Array.from({ length: count }, (_, index) => `${letter}${index + 1}`)

/** Each page with the rows that it must have. */
const PAGES = {
  'docs/features.md': [
    ...upTo('T', 9),
    ...upTo('S', 12),
    'S14',
    'S16',
    ...upTo('R', 15),
    ...upTo('D', 9),
    ...upTo('U', 3),
    ...upTo('V', 9),
    ...upTo('E', 3),
    ...upTo('X', 4),
    'X6',
    'X7',
    'C3',
  ],
  'docs/lessons.md': [
    ...upTo('', 57),
    '62',
    '63',
    '65',
    '66',
    '67',
    '68',
    '69',
    '71',
    '72',
    '76',
    '77',
    '78',
    '80',
  ],
}

/** @returns one line for each problem */
export function faults() {
  const titles = titlesIn(root)
  return Object.entries(PAGES).flatMap(([page, wanted]) => {
    const rows = rowsOf(readFileSync(join(root, page), 'utf8'))
    const found = rows.map(({ id }) => id)
    return [
      ...wanted.filter((id) => !found.includes(id)).map((id) => `${page}: row ${id} is missing`),
      ...found.filter((id) => !wanted.includes(id)).map((id) => `${page}: unknown row ${id}`),
      ...found.filter((id, index) => found.indexOf(id) !== index).map((id) => `${page}: duplicate row ${id}`),
      ...rows.flatMap((row) => faultsOf(row, titles).map((fault) => `${page}: ${row.id}: ${fault}`)),
    ]
  })
}

/** Rows of tables whose first cell is an id. */
function rowsOf(text) {
  return text.split('\n').flatMap((line) => {
    const [, id, , proof] = line.split(/(?<!\\)\|/).map((cell) => cell.trim())
    return proof !== undefined && /^[A-Z]?\d+$/.test(id)
      ? [{ id, proof: proof.replaceAll(/\\([^\w\s])/g, '$1') }]
      : []
  })
}

function faultsOf({ proof }, titles) {
  if (proof.startsWith('Cannot happen:')) return []
  return proof.split('<br>').flatMap((part) => {
    const [, file, title] = /^`(test\/[^`]+)` (.+)$/.exec(part.trim()) ?? []
    if (file === undefined) return [part.trim() === '' ? 'names no test' : part.trim()]
    const found = titles(file)
    if (found === null) return [`${file} does not exist`]
    return found.has(title) ? [] : [`${file} has no test '${title}'`]
  })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const found = faults()
  for (const fault of found) process.stderr.write(`${fault}\n`)
  if (found.length > 0) process.exitCode = 1
  else process.stdout.write('All rows are present, and all tests that they name exist.\n')
}
