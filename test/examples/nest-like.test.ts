/** Modules and providers: handlers are methods, and the container's hooks start and stop the worker. */
import { expect, onTestFinished, test } from 'vitest'
import { Kalends } from 'kalends'
import { open } from 'kalends/testing'
import { Application, provide, token } from '../../examples/nest-like/container.ts'
import {
  closeDay,
  INVOICE_JOBS,
  INVOICES,
  InvoiceJobs,
  invoicesModule,
} from '../../examples/nest-like/invoices.module.ts'
import { KALENDS, KalendsModule } from '../../examples/nest-like/kalends.module.ts'
import { start, temporaryFolder } from '../cli/program.ts'
import { eachDatabase } from '../support/databases.ts'

test('on a virtual clock, advancing one day calls the methods of the injected class', async () => {
  const made: Application[] = []
  const clock = await open(
    async (kalends) => {
      const kalendsModule = KalendsModule.forRoot({ open: () => kalends, start: false })
      made.push(await Application.create(invoicesModule(kalendsModule)))
    },
    { now: '2026-05-04T08:00:00Z' },
  )
  const [application] = made
  await clock.advance('1d')
  expect(application?.get(INVOICE_JOBS)).toBeInstanceOf(InvoiceJobs)
  expect(application?.get(INVOICES).sent).toEqual([401, 402])
  const [run] = await clock.kalends.schedules.history('invoices.close-day')
  expect(run).toMatchObject({ state: 'success', result: { invoices: 2 }, args: { branch: 'main' } })

  // A permanent error is not retried.
  const nowhere = await clock.kalends.jobs.submit(closeDay, { branch: 'nowhere' })
  expect(await clock.waitFor(nowhere)).toMatchObject({ state: 'failed', reason: 'permanent' })
  await application?.close()
  expect(clock.kalends.health().ok).toBe(false)
})

eachDatabase(({ fresh }) => {
  test('onModuleInit starts the worker, and onApplicationShutdown stops it', async () => {
    const database = await fresh()
    onTestFinished(() => database.drop())
    const workers = () => database.query('SELECT id FROM worker')
    const application = await Application.create(
      invoicesModule(KalendsModule.forRoot({ open: () => Kalends.open(database.url), start: {} })),
    )
    const { jobs, schedules } = application.get(KALENDS)
    expect(await workers()).toHaveLength(1)
    expect(await schedules.get('invoices.close-day')).toMatchObject({ declaredBy: 'invoices' })
    const job = await jobs.wait(await schedules.runNow('invoices.close-day'), { timeout: '20s' })
    expect(job).toMatchObject({ state: 'success', result: { invoices: 2 } })
    const { items } = await jobs.list({ task: 'invoices.send' })
    expect(items).toHaveLength(2)
    for (const { id } of items) await jobs.wait(id, { timeout: '20s' })
    expect(application.get(INVOICES).sent).toHaveLength(2)
    await application.close()
    expect(await workers()).toEqual([])
  })

  test('the program ends cleanly on SIGTERM', async () => {
    const database = await fresh()
    onTestFinished(() => database.drop())
    const cwd = await temporaryFolder()
    const program = start('examples/dist/nest-like/main.js', [database.url], { cwd })
    await program.until(/(invoices\.[a-z-]+: success\n[^]*){3}/)
    program.child.kill('SIGTERM')
    expect(await program.ended).toMatchObject({ code: 0, stderr: '' })
    expect(await database.query('SELECT id FROM worker')).toEqual([])
  })
})

test('a failed start closes the created providers, and the error names a missing dependency', async () => {
  const closed: string[] = []
  const missing = token<string>('Missing')
  const opened = token<object>('Opened')
  const root = {
    name: 'Root',
    providers: [
      provide(opened, [], () => ({
        onModuleInit: () => Promise.reject(new Error('the port is taken')),
        onApplicationShutdown: () => void closed.push('opened'),
      })),
    ],
  }
  await expect(Application.create(root)).rejects.toThrow('the port is taken')
  expect(closed).toEqual(['opened'])
  const lacking = { name: 'Lacking', providers: [provide(opened, [missing], (text) => ({ text }))] }
  await expect(Application.create(lacking)).rejects.toThrow('Opened → Missing')
})
