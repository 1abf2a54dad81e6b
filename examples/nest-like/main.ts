/**
 * A service of modules and providers, as NestJS has them, without NestJS.
 *
 *     node examples/dist/nest-like/main.js [database]
 *
 * With NestJS the classes stay as they are: `@Injectable()` on `InvoiceJobs` and `Invoices`, `Kalends` as a provider
 * with `useFactory: () => Kalends.open(url)`, and `app.enableShutdownHooks()`.
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

// What a controller would do: nobody wants to wait until 22:00.
const kalends = application.get(KALENDS)
kalends.on('settled', ({ task, state }) => console.log(`${task}: ${state}`))
await kalends.jobs.submit(closeDay, { branch: 'main' })
console.log('ready; Ctrl-C stops it')
