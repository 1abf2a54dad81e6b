/** The worker process: submits due reminders and delivers them. Start as many as you like. See server.ts. */
import { Kalends } from 'kalends'
import { remind } from './reminder.ts'

const kalends = await Kalends.open(process.argv[2] ?? 'sqlite:./reminders.db')

kalends.handle(remind, ({ args, job, slot }) => {
  // A real application sends an email or a push message, with job.id as the idempotency key.
  console.log(`to ${job.submitter}: ${args.text} (${slot?.toISOString() ?? 'now'})`)
})

await kalends.start({ signals: true })
console.log('ready')
