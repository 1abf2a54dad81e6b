/**
 * Opens a SQLite file as a user without privileges, lists its jobs, submits one, and prints what happened as JSON. Plain
 * JavaScript that uses dist/: the process changes its user. Arguments: the file, the driver, whether to change the user.
 */
import { Kalends } from '../../dist/index.js'

const [, , file = '', driver, user] = process.argv
const options = { driver, logger: false, retention: false }
// Loads everything before the change of the user, who may have no access to the folders of the modules.
await (await Kalends.open('sqlite::memory:', options)).stop()
if (user === 'nobody') {
  process.setgid?.(65534)
  process.setuid?.(65534)
}

/** @param {() => Promise<unknown>} act */
async function outcome(act) {
  try {
    return await act()
  } catch (error) {
    return `${error.code}: ${error.message}`
  }
}

/** @type {Record<string, unknown>} */
const result = {}
const kalends = await outcome(() => Kalends.open(`sqlite:${file}`, options))
if (kalends instanceof Kalends) {
  result.list = await outcome(async () => (await kalends.jobs.list()).items.length)
  result.submit = await outcome(async () => typeof (await kalends.jobs.submit('mail', { to: 'ä€😀' })))
  await kalends.stop()
} else result.open = kalends
process.stdout.write(JSON.stringify(result))
