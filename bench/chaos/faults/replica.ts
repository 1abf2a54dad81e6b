/** A source and its replica change roles, either as planned or because the source died. */
import type { ReplicationPair } from '../../../test/support/servers-replica.ts'
import type { Fault } from '../fault.ts'
import { timed } from './held.ts'

export function replicaFaults(pair: ReplicationPair, leaseMs: number): Fault[] {
  return [
    {
      name: 'replica.switchover',
      weight: 4,
      lastsMs: 6000,
      scope: 'whole',
      async run() {
        const { source, replica } = pair
        const ms = await timed(pair.switchOver())
        return { hit: source.name, detail: `${replica.name} became the source in its place in ${ms} ms` }
      },
    },
    {
      name: 'replica.promote',
      weight: 4,
      lastsMs: 20_000,
      scope: 'whole',
      async run(ground, random) {
        const { source, replica } = pair
        // Sometimes the replica is cut off for a moment before the source dies, so that the source has transactions
        // that it has not acknowledged to any client.
        const cutOffMs = random.pick([0, random.int(100, 1000)])
        const deadMs = random.int(0, 3000)
        const aloneMs = random.int(0, leaseMs)
        let promotedMs: number
        try {
          if (cutOffMs > 0) await replica.query('STOP REPLICA IO_THREAD')
          await ground.pause(cutOffMs)
          await source.kill()
          await ground.pause(deadMs)
          promotedMs = await timed(pair.promote())
        } catch (error) {
          await pair.heal()
          throw error
        }
        let back = ''
        try {
          await ground.pause(aloneMs)
        } finally {
          back = await pair.rejoin()
        }
        return {
          hit: source.name,
          detail: `kill -9${cutOffMs > 0 ? `, ${cutOffMs} ms after its replica was cut off` : ''}; ${deadMs} ms later ${replica.name} was promoted in ${promotedMs} ms, and after ${aloneMs} ms the other came back as its replica ${back}`,
        }
      },
    },
  ]
}
