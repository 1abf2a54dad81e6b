/**
 * Polls and claims ten jobs at a time, like a worker, while many others are waiting. It calls the store directly,
 * because a worker would run the jobs and change the queue.
 */
import type { openStores } from '../../src/store/open.ts'
import { Kalends, task } from 'kalends'
import { z } from 'zod'
import { program } from './program.ts'

const params = z.object({ url: z.string(), claims: z.number(), groups: z.array(z.string()) })

/** Jobs in one claim. */
const LIMIT = 10
const WARM_UP = 5

interface Inside {
  readonly openStores: typeof openStores
}

await program(params, async ({ url, claims, groups }) => {
  const module: unknown = await import(new URL('../../../dist/store/open.js', import.meta.url).href)
  // The built file has the types of its source.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const stores = await (module as Inside).openStores(url)
  const store = stores.loops
  await using kalends = await Kalends.open(url, { retention: false })
  const mine = task('mine')
  const policy = { timeout: 60_000, retries: 0, retryDelay: null, retryBackoff: 'fixed' as const }
  const tasks = new Map([['mine', policy]])
  const claimMs: number[] = []
  const lookMs: number[] = []
  let last = ''
  for (let claim = 0; claim < claims + WARM_UP; claim += 1) {
    await kalends.jobs.submitMany(
      Array.from({ length: LIMIT }, (_, index) => ({
        task: mine,
        group: groups[index % groups.length] ?? '',
      })),
    )
    const looked = performance.now()
    await store.scheduling.look(['mine'])
    const began = performance.now()
    const jobs = await store.executing.claim('bench/1', tasks, LIMIT, last)
    const ended = performance.now()
    if (jobs.length !== LIMIT) throw new Error(`${jobs.length} jobs were claimed instead of ${LIMIT}`)
    if (claim >= WARM_UP) {
      claimMs.push(ended - began)
      lookMs.push(began - looked)
    }
    last = jobs.at(-1)?.group ?? last
    await store.executing.settle(
      jobs.map(({ id, worker, claim }) => ({
        fence: { id, worker, claim },
        end: { kind: 'success', result: null },
        policy,
      })),
    )
  }
  await stores.close()
  return { claimMs, lookMs }
})
