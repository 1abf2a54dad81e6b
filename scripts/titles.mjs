/** The titles of all tests, by file: what `check-features.mjs` looks for. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

const DEFINERS = new Set(['describe', 'it', 'test'])
/** What may stand between such a word and the title. */
const MODIFIERS = new Set([
  'concurrent',
  'each',
  'fails',
  'for',
  'only',
  'runIf',
  'sequential',
  'skip',
  'skipIf',
])

/** @returns file, from the root of the project, to the titles in it */
export function titlesByFile(root) {
  const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => `test/${file.replaceAll('\\', '/')}`)
  return new Map(files.map((file) => [file, titlesOf(file, readFileSync(join(root, file), 'utf8'))]))
}

function titlesOf(file, text) {
  const titles = new Set()
  const visit = (node) => {
    if (ts.isCallExpression(node) && DEFINERS.has(rootName(node.expression))) {
      const title = node.arguments[0]
      if (title !== undefined && ts.isStringLiteralLike(title)) titles.add(title.text)
      else if (title !== undefined && ts.isTemplateExpression(title)) titles.add(title.getText().slice(1, -1))
    }
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true))
  return titles
}

/** Of `it`, `it.skipIf(…)`, `test.each([…])`: the word it begins with. */
function rootName(node) {
  if (ts.isIdentifier(node)) return node.text
  if (ts.isPropertyAccessExpression(node) && !MODIFIERS.has(node.name.text)) return ''
  if (ts.isPropertyAccessExpression(node) || ts.isCallExpression(node)) return rootName(node.expression)
  return ''
}
