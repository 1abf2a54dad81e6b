/** A module of the application: a service and the jobs that call it. */
import { type HandlerContext, type Kalends, PermanentError, task } from 'kalends'
import { daily } from 'kalends/timer'
import { z } from 'zod'
import { type Module, provide, token } from './container.ts'
import { KALENDS } from './kalends.module.ts'

/** Plain values: a controller can import them to submit jobs, without the class that runs them. */
export const closeDay = task('invoices.close-day', { args: z.object({ branch: z.string() }) })
export const sendInvoice = task('invoices.send', {
  args: z.object({ invoice: z.number().int() }),
  retries: 5,
})

type CloseDay = HandlerContext<{ branch: string }>
type SendInvoice = HandlerContext<{ invoice: number }>

/** The service, which does not depend on schedules. */
export class Invoices {
  readonly #sent = new Set<number>()

  /** @returns the numbers of the branch's invoices for that day */
  openOf(branch: string, day: Date): number[] {
    return branch === 'nowhere' ? [] : [1, 2].map((number) => day.getUTCDate() * 100 + number)
  }

  send(invoice: number): void {
    this.#sent.add(invoice)
  }

  get sent(): number[] {
    return [...this.#sent].toSorted((one, other) => one - other)
  }
}

/** The jobs: an injectable class whose methods are the handlers. */
export class InvoiceJobs {
  readonly #kalends: Kalends
  readonly #invoices: Invoices

  constructor(kalends: Kalends, invoices: Invoices) {
    this.#kalends = kalends
    this.#invoices = invoices
    // Register in the constructor: Kalends starts in onModuleInit, which runs later.
    kalends.handle(closeDay, (context) => this.closeDay(context))
    kalends.handle(sendInvoice, (context) => this.send(context))
    kalends.declare('invoices', [
      {
        task: closeDay,
        timer: daily('22:00'),
        args: { branch: 'main' },
        summary: "Sends the day's invoices",
      },
    ])
  }

  /** Submits one job for each invoice, so that each is retried separately. The job ids prevent duplicates. */
  async closeDay({ args, slot }: CloseDay): Promise<{ invoices: number }> {
    const invoices = this.#invoices.openOf(args.branch, slot ?? new Date())
    if (invoices.length === 0) throw new PermanentError(`the branch ${args.branch} has no invoices`)
    for (const invoice of invoices) {
      const id = `invoice-${invoice}`
      if ((await this.#kalends.jobs.get(id)) === null)
        await this.#kalends.jobs.submit(sendInvoice, { invoice }, { id })
    }
    return { invoices: invoices.length }
  }

  send({ args, log }: SendInvoice): void {
    this.#invoices.send(args.invoice)
    log.info(`sent ${args.invoice}`)
  }
}

export const INVOICES = token<Invoices>('Invoices')
export const INVOICE_JOBS = token<InvoiceJobs>('InvoiceJobs')

export function invoicesModule(kalendsModule: Module): Module {
  return {
    name: 'InvoicesModule',
    imports: [kalendsModule],
    providers: [
      provide(INVOICES, [], () => new Invoices()),
      provide(INVOICE_JOBS, [KALENDS, INVOICES], (kalends, invoices) => new InvoiceJobs(kalends, invoices)),
    ],
  }
}
