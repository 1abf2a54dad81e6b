/** The tables of the documentation that `npm run docs:settings` writes from src/model/settings.ts. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { flagOf } from '../../src/cli/failure.ts'
import { CLEARABLE } from '../../src/cli/schedules/write.ts'
import {
  explained,
  isOfJobs,
  isPolicy,
  OPTION_NAMES,
  type Setting,
  SETTING_NAMES,
  type SettingName,
  settingOf,
  taskDefaultText,
} from '../../src/model/settings.ts'
import { root } from './markdown.ts'

type Cells = readonly string[]

/** Pads cells as the formatter does. */
function tableOf(header: Cells, rows: readonly Cells[]): string {
  const widths = header.map((_, column) =>
    Math.max(3, ...[header, ...rows].map((cells) => cells[column]?.length ?? 0)),
  )
  const line = (cells: Cells) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  return [header, widths.map((width) => '-'.repeat(width)), ...rows].map(line).join('\n')
}

const quoted = (text: string) => `\`${text}\``
const listed = (names: readonly SettingName[]) =>
  names.map((name) => quoted(settingOf(name).column)).join(', ')

/** The accepted values of a column. */
function taken(setting: Setting): string {
  switch (setting.kind) {
    case 'text':
      return `up to ${setting.most} characters`
    case 'whole':
      return `${setting.least} to ${setting.most}`
    case 'span':
      return `${setting.least} to ${setting.most} ms`
    case 'choice':
      return Object.keys(setting.values).map(quoted).join(', ')
    case 'instant':
      return 'a time'
    case 'flag':
      return '0 or 1'
    case 'json':
      return 'JSON'
    default:
      return setting satisfies never
  }
}

function columnDefault(setting: Setting): string {
  const { default: value, otherwise } = setting
  if (value === undefined) return 'required'
  if (value === null) return otherwise === undefined ? 'NULL' : `NULL: ${otherwise}`
  return quoted(value === '' ? "''" : String(typeof value === 'boolean' ? Number(value) : value))
}

function meaning(setting: Setting): string {
  if (setting.kind !== 'choice') return setting.description
  const values = Object.entries(setting.values).map(([value, means]) => `${quoted(value)}: ${means}`)
  return `${setting.description}. ${values.join('; ')}`
}

function columnsTable(): string {
  const rows = SETTING_NAMES.map((name) => {
    const setting = settingOf(name)
    return [quoted(setting.column), quoted(name), taken(setting), columnDefault(setting), meaning(setting)]
  })
  return `${tableOf(['column', 'option', 'takes', 'default', ''], rows)}

Editing any of these columns plans the row again, from now: ${listed(SETTING_NAMES.filter((name) => settingOf(name).replans === true))}.
Jobs get a copy of these: ${listed(SETTING_NAMES.filter((name) => isOfJobs(name)))}.`
}

function flagsTable(): string {
  const flags = OPTION_NAMES.filter((name) => name !== 'enabled')
  const rows = flags.map((name) => [quoted(flagOf(name)), meaning(settingOf(name))])
  return `${tableOf(['option', ''], rows)}\n\n\`none\` clears ${CLEARABLE.map(quoted).join(', ')}.`
}

function policyTable(): string {
  const rows = SETTING_NAMES.filter((name) => isPolicy(name)).map((name) => {
    const setting = settingOf(name)
    return [quoted(name), taskDefaultText(setting), meaning(setting)]
  })
  return tableOf(['setting', 'default of a task', ''], rows)
}

/** The page with its expected generated part. */
function withPart(page: string, part: string): string {
  const text = readFileSync(join(root, page), 'utf8')
  const [whole, begin, end] =
    /(<!-- written by npm run docs:settings: begin -->\n)[^]*(\n<!-- written by npm run docs:settings: end -->)/.exec(
      text,
    ) ?? []
  if (whole === undefined) throw new Error(`${page} has no markers for the generated part`)
  return text.replace(whole, () => `${begin}\n${part}\n${end}`)
}

test.each([
  ['docs/tables.md', columnsTable],
  ['docs/cli.md', flagsTable],
  ['docs/guides/retries.md', policyTable],
])('%s has the settings table', async (page, part) => {
  await expect(withPart(page, part())).toMatchFileSnapshot(join(root, page))
})

test('doc comments contain the descriptions from the settings table', () => {
  const source = ts.createSourceFile(
    'setting-table.ts',
    readFileSync(join(root, 'src/model/setting-table.ts'), 'utf8'),
    ts.ScriptTarget.Latest,
    true,
  )
  const comments = new Map<string, string>()
  const visit = (node: ts.Node): void => {
    if (ts.isPropertyAssignment(node) && ts.isObjectLiteralExpression(node.initializer)) {
      const [comment] = ts.getJSDocCommentsAndTags(node)
      const text = ts.getTextOfJSDocComment(comment && ts.isJSDoc(comment) ? comment.comment : undefined)
      comments.set(node.name.getText(), text?.replaceAll(/\s+/g, ' ') ?? '')
      return
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  expect(Object.fromEntries(comments)).toEqual(
    Object.fromEntries(SETTING_NAMES.map((name) => [name, `${explained(settingOf(name))}.`])),
  )
})
