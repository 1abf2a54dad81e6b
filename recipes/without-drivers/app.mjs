// Without a package for SQLite, Kalends uses the driver of Node.js, or the error for a SQLite URL names a package. The
// error for a MySQL URL names its package.
import { isBuiltin } from 'node:module'
import { Kalends } from 'kalends'

const opened = await Kalends.open('sqlite::memory:').catch((thrown) => thrown)
if (isBuiltin('node:sqlite')) await opened.stop()
else if (!/npm install better-sqlite3@12$/.test(opened.message)) throw opened
const refused = await Kalends.open('mysql://root@127.0.0.1:1/app').catch((thrown) => thrown)
if (refused.code !== 'KALENDS_INVALID_INPUT' || !/npm install mysql2$/.test(refused.message)) throw refused
