const { isBuiltin } = require('node:module')
const { Kalends } = require('kalends')

Kalends.open('sqlite::memory:').then(
  () => process.exit(isBuiltin('node:sqlite') ? 0 : 1),
  (error) => process.exit(/npm install better-sqlite3@12$/.test(error.message) ? 0 : 1),
)
