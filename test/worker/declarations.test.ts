import { expect, test } from 'vitest'
import { silentLogger } from '../../src/logger.ts'
import { DEFAULT_SETTINGS } from '../../src/model/schedule.ts'
import type { DeclaredStore, SetChanges } from '../../src/store/declared-store.ts'
import { Declarations } from '../../src/worker/declarations.ts'

test('a set that the database rejects at the start is written later as the start would have written it', async () => {
  const settings = { ...DEFAULT_SETTINGS, task: 't', timer: 'yearly', declaredBy: 'set' }
  const schedules = [{ id: 't', settings, firstRun: 'now' as const }]
  const sets = [{ name: 'set', hash: 'h', onRemoved: 'retire' as const, schedules }]
  const written: { changes: SetChanges; isStart: boolean | undefined }[] = []
  const answers = [false, false, true, true]
  const store: DeclaredStore = {
    sync: async (_, decide, isStart) => {
      const changes = decide({ existing: [], isNewest: true, liveIds: new Set(['t']) })
      written.push({ changes, isStart })
      return answers.shift() ?? true
    },
  }
  let changed = 0
  const declarations = new Declarations({
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- without an external queue, nothing else is used
    store: { declared: store } as never,
    declaredAtStart: store,
    sets,
    externalQueue: null,
    leaseMs: 60_000,
    logger: silentLogger,
    worker: () => 'w/1',
    onChanged: () => (changed += 1),
    onError: () => undefined,
  })
  await declarations.atStart()
  for (let pass = 0; pass < 3; pass += 1) await declarations.pass()
  const isDue = written.map(({ changes }) => changes.create[0]?.isDue !== null)
  // The fourth pass only repairs the set, so it ignores `firstRun`.
  expect(isDue).toEqual([true, true, true, false])
  expect(written.map(({ isStart }) => isStart)).toEqual([true, false, false, false])
  expect(changed).toBe(2)
})
