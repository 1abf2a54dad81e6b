/** The worker process: submits what is due and delivers it. Start as many as you like. See server.ts. */
import { Kalends } from 'kalends'
import { remind } from './reminder.ts'

const kalends = await Kalends.open(process.argv[2] ?? 'sqlite:./reminders.db')

kalends.handle(remind, ({ args, job, slot }) => {
  // A real one sends a mail or a push message, with job.id as its idempotency key.
  console.log(`to ${job.submitter}: ${args.text} (${slot?.toISOString() ?? 'now'})`)
})

await kalends.start({ signals: true })
console.log('ready')
