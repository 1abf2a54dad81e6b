/** The fenced code blocks of the documentation, for tests that run them. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

export const root = join(import.meta.dirname, '../..')

export interface Block {
  /** The location of the block, such as `docs/tables.md:12`. */
  readonly at: string
  /** The word after the fence, such as `sql`. */
  readonly language: string
  /** The words after the language, such as `sqlite` and `no-run`. */
  readonly flags: readonly string[]
  readonly text: string
}

/** Every Markdown file of the documentation, except generated files. */
export function pages(): string[] {
  const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md') && !file.startsWith('reference'))
    .map((file) => join(root, 'docs', file))
  return [
    ...['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'examples/README.md'].map((file) => join(root, file)),
    ...docs.toSorted(),
  ]
}

export function blocksOf(file: string, languages: readonly string[]): Block[] {
  const text = readFileSync(file, 'utf8')
  return [...text.matchAll(/^```(\w+)(.*)\n([^]*?)^```$/gm)]
    .map((match) => {
      const [, language = '', flags = '', code = ''] = match
      const line = text.slice(0, match.index).split('\n').length
      return {
        at: `${relative(root, file)}:${line}`,
        language,
        flags: flags.split(' ').filter((flag) => flag !== ''),
        text: code,
      }
    })
    .filter(({ language }) => languages.includes(language))
}
