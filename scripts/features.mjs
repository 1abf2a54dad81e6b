/**
 * Prints the features and lessons of docs/features.md and docs/lessons.md, each with the tests that prove it: the tests
 * whose titles end with its id, as in `a past date is rejected [T5, L9]`.
 *
 * `npm run features` prints all of them, `npm run features T5 L9` only those two.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const PAGES = ['docs/features.md', 'docs/lessons.md']
const ENTRY = /^- \*\*([A-Z]\d+)\*\* (.+(?:\n {2}.+)*)/gm
/** A quoted title with ids at the end. */
const MARKED = /(['"`])((?:(?!\1)[^\\\n]|\\.)*) \[([A-Z]\d+(?:, [A-Z]\d+)*)\]\1/g

/** @returns {{ id: string, text: string, tests: string[] }[]} in the order of the pages */
export function features() {
  const entries = PAGES.flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(ENTRY)].map(([, id, text]) => ({
      id,
      text: text.replaceAll(/\s+/g, ' '),
      tests: [],
    })),
  )
  const byId = new Map(entries.map((entry) => [entry.id, entry]))
  const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' }).toSorted()
  for (const file of files.filter((name) => name.endsWith('.test.ts')))
    for (const [, , title, ids] of readFileSync(join(root, 'test', file), 'utf8').matchAll(MARKED))
      for (const id of ids.split(', ')) {
        if (!byId.has(id)) throw new Error(`test/${file}: '${title}' names ${id}, which is on no page`)
        byId.get(id).tests.push(`test/${file}: ${title}`)
      }
  return entries
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const wanted = process.argv.slice(2)
  for (const { id, text, tests } of features())
    if (wanted.length === 0 || wanted.includes(id))
      process.stdout.write(`${id} ${text}\n${tests.map((test) => `     ${test}\n`).join('')}`)
}
