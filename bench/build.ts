/**
 * Compiles the measured programs to plain JavaScript, because otherwise the measurements would include a loader. `npm
 * run typecheck` checks their types.
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import ts from 'typescript'

const FOLDERS = ['programs', 'peers', 'peers-node24']

export async function buildPrograms(): Promise<void> {
  for (const folder of FOLDERS) {
    const source = join(import.meta.dirname, folder)
    const target = join(import.meta.dirname, 'dist', folder)
    await mkdir(target, { recursive: true })
    for (const name of await readdir(source)) {
      if (!name.endsWith('.ts') || name.endsWith('.d.ts')) continue
      const { outputText } = ts.transpileModule(await readFile(join(source, name), 'utf8'), {
        fileName: name,
        compilerOptions: {
          target: ts.ScriptTarget.ES2023,
          module: ts.ModuleKind.ESNext,
          verbatimModuleSyntax: true,
          rewriteRelativeImportExtensions: true,
        },
      })
      await writeFile(join(target, name.replace(/\.ts$/, '.js')), outputText)
    }
  }
}
