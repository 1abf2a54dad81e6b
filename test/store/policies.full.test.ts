/** Overlap policies with several concurrent schedulers and executors, in real time. */
import { expect, it } from 'vitest'
import { plan } from '../../src/model/plan.ts'
import type { AttemptEnd } from '../../src/model/settle.ts'
import type { Decide } from '../../src/store/scheduling-store.ts'
import { expectNoFault } from '../support/fault.ts'
import { clock, LEASE_MS, onEachStore, planned, policies } from './conformance.ts'
import { write } from './writes.ts'

const decide: Decide = (row, now, open) => plan(row, { now, open, missedAfterMs: LEASE_MS + 1000 })
const success: AttemptEnd = { kind: 'success', result: null }

onEachStore((under) => {
  it.each(['queue-one', 'replace'])(
    '%s with concurrent slots, claims, outcomes and cancels: one job at a time, and nothing is stuck',
    { timeout: 120_000 },
    async (overlap) => {
      const all = Array.from({ length: 12 }, (_, index) => `s${index}`)
      for (const id of all) await planned(under, id, await clock(under), { overlap, timer: '*:*:*' })
      const others = await Promise.all([under.another(), under.another()])
      const until = Date.now() + 3500
      const twice: unknown[] = []
      const errors: unknown[] = []
      const loop = async (work: () => Promise<unknown>) => {
        while (Date.now() < until) await work().catch((error: unknown) => errors.push(error))
      }
      await Promise.all([
        ...others.map((store, index) =>
          loop(async () => {
            const me = `scheduler/${index}`
            const marks = await store.scheduling.markDue(me, 100, LEASE_MS)
            const { refused } = await store.scheduling.submit(me, marks, decide)
            errors.push(...refused)
          }),
        ),
        ...others.map((store, index) =>
          loop(async () => {
            const me = `executor/${index}`
            const claimed = await store.executing.claim(me, policies('task'), 3, '')
            const end: AttemptEnd = index === 0 ? success : { kind: 'error', error: 'boom', permanent: false }
            await write(store).settle(
              claimed.map(({ id, claim: number, policy }) => ({
                fence: { id, worker: me, claim: number },
                end,
                policy,
              })),
            )
          }),
        ),
        loop(async () => {
          const [open] = await under.query("SELECT id FROM job WHERE state = 'blocked' LIMIT 1")
          if (open !== undefined) await write(under.store).cancel(String(open['id']))
          twice.push(
            ...(await under.query(
              "SELECT periodic_task_id FROM job WHERE state IN ('waiting', 'running') GROUP BY periodic_task_id HAVING COUNT(*) > 1",
            )),
          )
        }),
      ])
      expect(errors).toEqual([])
      expectNoFault(twice)
      expect(
        await under.query(
          "SELECT id FROM job AS b WHERE state = 'blocked' AND NOT EXISTS (SELECT 1 FROM job AS a WHERE a.state IN ('waiting', 'running') AND a.periodic_task_id = b.periodic_task_id)",
        ),
      ).toEqual([])
      expect(
        await under.query(
          "SELECT periodic_task_id FROM job WHERE state = 'blocked' GROUP BY periodic_task_id HAVING COUNT(*) > 1",
        ),
      ).toEqual([])
    },
  )
})
