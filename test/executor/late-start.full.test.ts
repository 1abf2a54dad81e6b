/** A worker may begin only what is surely its own still: a claim is worth nothing once its heartbeat is too old. */
import { expect, it } from 'vitest'
import { task } from '../../src/index.ts'
import { ended, scene } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'

const LEASE_MS = 1200

eachDatabase((under) => {
  it('a job that is claimed while a handler blocks the process for longer than the lease does not start on this worker', async () => {
    const { open } = await scene(under)
    const kalends = await open({ lease: LEASE_MS })
    const begun: { job: string; worker: string | null; attempt: number }[] = []
    kalends.handle(task('work'), ({ job, attempt, args }) => {
      begun.push({ job: job.id, worker: kalends.health().worker, attempt })
      if (args['blocks'] === true && begun.length === 1)
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LEASE_MS + 300)
    })
    const [blocking, ...others] = await kalends.jobs.submitMany([
      { task: task('work'), args: { blocks: true }, priority: 9 },
      ...Array.from({ length: 5 }, () => ({ task: task('work') })),
    ])
    await kalends.start()
    for (const id of others) expect(await ended(kalends, id)).toMatchObject({ state: 'success', attempt: 1 })
    expect(begun[0]?.job).toBe(blocking)
    // None by a worker that might be dead to the others, and each of the others once.
    expect(begun.filter(({ worker }) => worker === null)).toEqual([])
    expect(begun.filter(({ job }) => job !== blocking).map(({ job }) => job)).toEqual(others)
  })
})
