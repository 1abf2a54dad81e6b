/** The TypeScript of the documentation matches the types of the sources. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { blocksOf, pages, root } from './markdown.ts'

const blocks = pages().flatMap((page) => blocksOf(page, ['ts']))

/** Maps the entry points of the package to the sources, because the build may be outdated. */
function entryPoints(): Record<string, string[]> {
  const { exports }: { exports: Record<string, { default?: { default: string } }> } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  )
  return Object.fromEntries(
    Object.entries(exports).flatMap(([entry, { default: built }]) =>
      built === undefined
        ? []
        : [
            [
              `kalends${entry.slice(1)}`,
              [join(root, built.default.replace('./dist/', 'src/').replace(/\.js$/, '.ts'))],
            ],
          ],
    ),
  )
}

test('there is code to check', () => {
  expect(blocks.length).toBeGreaterThan(5)
})

test('every code sample is free of type errors', () => {
  const config = ts.readConfigFile(join(root, 'tsconfig.json'), (file) => ts.sys.readFile(file))
  const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, root, {
    noEmit: true,
    noUnusedLocals: false,
    paths: entryPoints(),
  })
  // Each block is a module in this folder, so that 'kalends' and the packages are found.
  const texts = new Map(
    blocks.map(({ text }, index) => [join(import.meta.dirname, `block-${index}.ts`), `${text}\nexport {}\n`]),
  )
  const host = ts.createCompilerHost(options)
  const before = { ...host }
  host.fileExists = (file) => texts.has(file) || before.fileExists(file)
  host.readFile = (file) => texts.get(file) ?? before.readFile(file)
  host.getSourceFile = (file, language, ...rest) => {
    const text = texts.get(file)
    return text === undefined
      ? before.getSourceFile(file, language, ...rest)
      : ts.createSourceFile(file, text, language)
  }
  const program = ts.createProgram([...texts.keys()], options, host)
  const problems = [...texts.keys()].flatMap((file, index) => {
    const source = program.getSourceFile(file)
    const diagnostics = [
      ...program.getSyntacticDiagnostics(source),
      ...program.getSemanticDiagnostics(source),
    ]
    return diagnostics.map(
      ({ messageText }) => `${blocks[index]?.at}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`,
    )
  })
  expect(problems).toEqual([])
})
