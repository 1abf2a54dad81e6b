const { Kalends } = require('kalends')

Kalends.open('sqlite::memory:').then(
  () => process.exit(1),
  (error) => process.exit(/npm install libsql$/.test(error.message) ? 0 : 1),
)
