/**
 * The web process. It only writes schedules: it never calls `start`, so it runs no jobs.
 *
 *     node examples/dist/express-reminders/server.js [database] [--port 3000]
 *     node examples/dist/express-reminders/worker.js [database]
 *
 *     curl -H 'authorization: Bearer anna' -H 'content-type: application/json' \
 *       -d '{"text":"Stand up","timer":"Mon..Fri 10:00","zone":"Europe/Berlin"}' localhost:3000/reminders
 */
import { parseArgs } from 'node:util'
import { Kalends } from 'kalends'
import { reminders } from './app.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { port: { type: 'string', default: '3000' } },
})
const kalends = await Kalends.open(positionals[0] ?? 'sqlite:./reminders.db')

/** Replace this with your session handling: here, the token is the user name. */
const app = reminders(kalends, {
  userOf: (request) => /^Bearer (\w+)$/.exec(request.get('authorization') ?? '')?.[1] ?? null,
})
const server = app.listen(Number(values.port), '127.0.0.1', (error) => {
  if (error !== undefined) throw error
  const address = server.address()
  console.log(`listening on http://127.0.0.1:${typeof address === 'object' ? address?.port : address}`)
})

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    server.close(() => void kalends.stop())
    server.closeAllConnections()
  })
}
