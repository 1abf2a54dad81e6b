// Without the SQLite driver, everything else loads, and the error for a SQLite URL names the missing package.
import { Kalends } from 'kalends'

const error = await Kalends.open('sqlite::memory:').catch((thrown) => thrown)
if (!/npm install libsql$/.test(error.message)) throw error
