import { type Kalends, task } from 'kalends'

export const report = task<{ city: string }>('report', { retries: 2, retryDelay: '1h' })

/** The setup that a worker uses, and that the test uses with a virtual clock. */
export function setUp(send: (text: string) => void) {
  return (kalends: Kalends) => {
    kalends.handle(report, ({ args, slot }) => send(`${args.city} ${slot?.toISOString()}`))
    kalends.declare('reports', [
      { task: report, timer: 'Mon..Fri 09:00 Europe/Berlin', args: { city: 'Berlin' } },
    ])
  }
}
