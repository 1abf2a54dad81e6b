// Without the driver of SQLite, everything else loads, and a URL of SQLite says what to install.
import { Kalends } from 'kalends'

const error = await Kalends.open('sqlite::memory:').catch((thrown) => thrown)
if (!/npm install libsql$/.test(error.message)) throw error
