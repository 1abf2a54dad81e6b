// In CommonJS: each entry point is the same module for require and import, and no warning is printed.
const { exports: entries } = require('kalends/package.json')

process.on('warning', (warning) => {
  throw warning
})

async function main() {
  for (const path of Object.keys(entries)) {
    if (path === './package.json') continue
    const entry = `kalends${path.slice(1)}`
    const required = require(entry)
    const imported = await import(entry)
    if (required !== imported) throw new Error(`${entry} has two instances`)
    if (Object.keys(imported).length === 0) throw new Error(`${entry} exports nothing`)
  }
}

main().catch((error) => {
  console.error(error)
  process.exitCode = 1
})
