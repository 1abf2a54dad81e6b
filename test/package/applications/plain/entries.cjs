// In CommonJS: each entry point is the same module for require and import, and no warning is printed.
const entries = [
  'kalends',
  'kalends/calendar',
  'kalends/timer',
  'kalends/testing',
  'kalends/http',
  'kalends/prometheus',
  'kalends/opentelemetry',
]

process.on('warning', (warning) => {
  throw warning
})

async function main() {
  for (const entry of entries) {
    const required = require(entry)
    const imported = await import(entry)
    for (const name of Object.keys(imported))
      if (required[name] !== imported[name]) throw new Error(`${entry} has two instances of ${name}`)
    if (Object.keys(imported).length === 0) throw new Error(`${entry} exports nothing`)
  }
}

main().catch((error) => {
  console.error(error)
  process.exitCode = 1
})
