/** The titles of the tests in a file: what `check-features.mjs` looks for. */
import { existsSync, readFileSync } from 'node:fs'
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

/** @returns from a file, as seen from the root of the project, to the titles in it; null if there is no such file */
export function titlesIn(root) {
  const found = new Map()
  return (file) => {
    if (!existsSync(join(root, file))) return null
    if (!found.has(file)) found.set(file, titlesOf(file, readFileSync(join(root, file), 'utf8')))
    return found.get(file)
  }
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
