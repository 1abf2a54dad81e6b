import { dueAtOnce, type FirstRun } from '../../src/model/first-run.ts'
import { cancel, retry, runNow } from '../../src/model/manual-runs.ts'
import { changedSettings, type ScheduleSettings } from '../../src/model/schedule.ts'
import type { UnsettledAttempt } from '../../src/store/executing-store.ts'
import type { Store } from '../../src/store/store.ts'

/** The writes of a store that need decisions, which come from the rules in model/. */
export const write = (store: Pick<Store, 'schedules' | 'jobs' | 'executing'>) => ({
  settle: (ends: readonly UnsettledAttempt[]) => store.executing.settle(ends),
  cancel: (id: string) => store.jobs.cancel(id, cancel),
  retry: (id: string) => store.jobs.retry(id, retry),
  runNow: (id: string, args: string | null = null) => store.schedules.runNow(id, args, runNow),
  create: (id: string, settings: ScheduleSettings, firstRun: FirstRun = 'next') =>
    store.schedules.create({ id, settings, isDue: dueAtOnce(firstRun, settings) }),
  put: (id: string, settings: ScheduleSettings, firstRun: FirstRun = 'next') => {
    const { enabled: _, declaredBy: __, ...wanted } = settings
    return store.schedules.put(
      id,
      () => ({ settings, isDue: dueAtOnce(firstRun, settings) }),
      (current) => changedSettings(current, wanted),
    )
  },
})
