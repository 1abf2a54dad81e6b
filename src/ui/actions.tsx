/** What people do to schedules and jobs, with what they are asked and told. */
import { ApiError } from './api/client.ts'
import { calls, type ScheduleAction } from './api/calls.ts'
import { notify } from './api/live.ts'
import type { JobsAction } from './api/types.ts'
import { ask } from './parts/dialog.tsx'
import { toast, toastError } from './parts/toast.tsx'
import { count } from './time/format.ts'

const DONE: Readonly<Record<ScheduleAction, string>> = {
  pause: 'is paused',
  resume: 'is active again',
  run: 'runs now',
  reset: 'is active again; its counters begin anew',
}

/** Calls at a time, so that many do not keep the server from everybody else. */
const AT_ONCE = 4

const changed = () => notify(new Set(['schedules', 'jobs']))

export async function actOn(id: string, action: ScheduleAction): Promise<void> {
  try {
    await calls.act(id, action)
    toast(`${id} ${DONE[action]}`)
  } catch (error) {
    toastError(error)
  }
  changed()
}

export async function actOnMany(
  ids: readonly string[],
  action: ScheduleAction,
  word: string,
): Promise<boolean> {
  const body = <Names ids={ids} />
  if (!(await ask({ title: `${word} ${count(ids.length)} schedules?`, body, action: word }))) return false
  await many(ids, (id) => calls.act(id, action), word)
  return true
}

export async function removeSchedules(
  ids: readonly string[],
  declaredBy: string | null = null,
): Promise<boolean> {
  const [only] = ids
  const yes = await ask({
    title: ids.length === 1 ? `Delete ${only}?` : `Delete ${count(ids.length)} schedules?`,
    body: (
      <>
        {ids.length > 1 && <Names ids={ids} />}
        <p>Jobs that were submitted already stay. This cannot be undone.</p>
        {declaredBy !== null && (
          <p>
            The code declares it in the set '{declaredBy}', so it comes back within minutes. Pause it instead.
          </p>
        )}
      </>
    ),
    action: 'Delete',
    isDangerous: true,
  })
  if (!yes) return false
  try {
    if (ids.length === 1 && only !== undefined) await calls.remove(only)
    else await calls.removeMany(ids)
    toast(ids.length === 1 ? `${only} is deleted` : `${count(ids.length)} schedules are deleted`)
  } catch (error) {
    toastError(error)
    changed()
    return false
  }
  changed()
  return true
}

export async function cancelJob(id: string, isRunning: boolean): Promise<void> {
  const yes = await ask({
    title: 'Cancel this job?',
    body: isRunning ? 'Its handler is asked to stop; what it has done already stays.' : 'It will not run.',
    action: 'Cancel the job',
    dismiss: 'Go back',
    isDangerous: true,
  })
  if (!yes) return
  try {
    const { state } = await calls.cancel(id)
    toast(state === 'running' ? 'The job was asked to stop' : 'The job is cancelled')
  } catch (error) {
    toastError(error)
  }
  changed()
}

export async function retryJob(id: string): Promise<void> {
  try {
    await calls.retry(id)
    toast('The job runs again, from its first attempt')
  } catch (error) {
    toastError(error)
  }
  changed()
}

export async function retryJobs(ids: readonly string[]): Promise<boolean> {
  const title = ids.length === 1 ? 'Retry this job?' : `Retry ${count(ids.length)} jobs?`
  const body =
    'Those that failed or were cancelled run again, from their first attempt. Others stay as they are.'
  if (!(await ask({ title, body, action: 'Retry' }))) return false
  await these('retry', ids, 'Retry')
  return true
}

export async function cancelJobs(ids: readonly string[]): Promise<boolean> {
  const title = ids.length === 1 ? 'Cancel this job?' : `Cancel ${count(ids.length)} jobs?`
  const body = 'Those that wait will not run; those that run are asked to stop.'
  if (!(await ask({ title, body, action: 'Cancel them', dismiss: 'Go back', isDangerous: true })))
    return false
  await these('cancel', ids, 'Cancel')
  return true
}

async function these(action: 'retry' | 'cancel', ids: readonly string[], word: string): Promise<void> {
  try {
    report(word, ids.length, await calls.these(action, ids))
  } catch (error) {
    toastError(error)
  }
  changed()
}

/** How many, and why not the others. */
export function report(word: string, asked: number, { changed: done, refused }: JobsAction): void {
  if (done.length > 0) toast(`${word}: done for ${count(done.length)} of ${count(asked)}`)
  const [first] = refused
  if (first !== undefined) toastError(`${word}: ${count(refused.length)} refused. ${first.detail}`)
  else if (done.length === 0) toastError(`${word}: there was nothing to do`)
}

/** Does it to each, and tells how many were refused and why. */
async function many(
  ids: readonly string[],
  call: (id: string) => Promise<unknown>,
  word: string,
): Promise<void> {
  const rest = [...ids]
  const refused: string[] = []
  const work = async () => {
    for (let id = rest.shift(); id !== undefined; id = rest.shift()) {
      try {
        await call(id)
      } catch (error) {
        if (!(error instanceof ApiError)) rest.length = 0
        refused.push(error instanceof Error ? error.message : String(error))
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  const done = ids.length - refused.length - rest.length
  if (done > 0) toast(`${word}: done for ${count(done)} of ${count(ids.length)}`)
  const [first] = refused
  if (first !== undefined) toastError(`${word}: ${count(refused.length)} refused. ${first}`)
  changed()
}

const NAMED = 8

function Names({ ids }: { readonly ids: readonly string[] }) {
  const rest = ids.length - NAMED
  return (
    <ul>
      {ids.slice(0, NAMED).map((id) => (
        <li key={id}>{id}</li>
      ))}
      {rest > 0 && <li class="quiet">and {count(rest)} more</li>}
    </ul>
  )
}
