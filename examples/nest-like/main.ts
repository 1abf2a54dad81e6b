/**
 * A service with modules and providers like those of NestJS, without NestJS.
 *
 *     node examples/dist/nest-like/main.js [database]
 *
 * With NestJS, keep the classes: add `@Injectable()` to `InvoiceJobs` and `Invoices`, provide `Kalends` with
 * `useFactory: () => Kalends.open(url)`, and call `app.enableShutdownHooks()`.
 */
import { Kalends } from 'kalends'
import { Application } from './container.ts'
import { closeDay, invoicesModule } from './invoices.module.ts'
import { KALENDS, KalendsModule } from './kalends.module.ts'

const url = process.argv[2] ?? 'sqlite:./nest-like.db'
const kalendsModule = KalendsModule.forRoot({
  open: () => Kalends.open(url),
  start: { concurrency: 5 },
})
const application = await Application.create(invoicesModule(kalendsModule))
application.enableShutdownHooks()

// A controller could submit the job in this way, without waiting until 22:00.
const kalends = application.get(KALENDS)
kalends.on('settled', ({ task, state }) => console.log(`${task}: ${state}`))
await kalends.jobs.submit(closeDay, { branch: 'main' })
console.log('ready; press Ctrl-C to stop')
