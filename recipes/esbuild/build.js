// The bundle contains everything except the SQLite drivers, which are native addons. The package `kalends` is removed
// at the end, to prove that the bundle does not need it.
import { build } from 'esbuild'
import { rm } from 'node:fs/promises'

const common = {
  entryPoints: ['bundled.js'],
  bundle: true,
  platform: 'node',
  target: 'node20',
  external: ['better-sqlite3', 'libsql'],
}
await build({ ...common, format: 'cjs', outfile: 'bundle/bundled.cjs' })
await build({
  ...common,
  format: 'esm',
  outfile: 'bundle/bundled.mjs',
  // CommonJS dependencies call require, which esbuild does not define in ES modules.
  banner: {
    js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)",
  },
})
await rm('node_modules/kalends', { recursive: true })
