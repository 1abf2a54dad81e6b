// Compiles an ES module application and a CommonJS application with every supported combination of TypeScript version
// and module resolution.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const read = (file) => readFileSync(file, 'utf8')
const { dependencies } = JSON.parse(read('package.json'))
const applications = ['es-module.mts', 'commonjs.cts']
const withDrizzle = ['drizzle.mts', 'drizzle.cts']
const common = ['--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2023', '--types', 'node']
const strictly = (...options) => ['--skipLibCheck', 'false', ...options]
const resolutions = [
  strictly('--module', 'node16', '--moduleResolution', 'node16', ...applications),
  strictly('--module', 'nodenext', '--moduleResolution', 'nodenext', ...applications),
  strictly('--module', 'preserve', '--moduleResolution', 'bundler', ...applications),
  // drizzle's own types contain errors.
  ['--skipLibCheck', 'true', '--module', 'nodenext', ...withDrizzle],
]
// TypeScript 6 deprecates this resolution; TypeScript 7 does not have it.
const node10 = strictly('--module', 'commonjs', '--moduleResolution', 'node10', 'commonjs.cts')

for (const entry of Object.keys(JSON.parse(read('node_modules/kalends/package.json')).exports)) {
  if (entry === './package.json') continue
  for (const file of entry.startsWith('./drizzle/') ? withDrizzle : applications)
    if (!read(file).includes(`'kalends${entry.slice(1)}'`))
      throw new Error(`${file} does not import ${entry}`)
}

for (const version of Object.keys(dependencies).filter((name) => name.startsWith('typescript-')))
  for (const options of version.startsWith('typescript-5') ? [...resolutions, node10] : resolutions) {
    const tsc = `node_modules/${version}/bin/tsc`
    const { status, stdout, stderr } = spawnSync(process.execPath, [tsc, ...common, ...options], {
      encoding: 'utf8',
    })
    if (status === 0) continue
    console.error(`${version} ${options.join(' ')}:\n${stdout}${stderr}`)
    process.exitCode = 1
  }
