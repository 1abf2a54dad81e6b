import { ConflictError, ForbiddenError, InvalidInputError, LimitError, NotFoundError } from '../errors.ts'
import { checkKeys, namesOf } from '../keys.ts'
import { JOB_FILTERS } from '../model/filters.ts'
import {
  checkedConditions,
  checkedFlag,
  checkedFunction,
  checkedId,
  checkedList,
  checkedWhole,
} from '../model/input.ts'
import type { Job } from '../model/job.ts'
import type { JobState } from '../model/states.ts'
import { type JobConditions, LIST_BOUNDS, type ListStore, NO_BOUNDS } from '../store/list-store.ts'

const OPTIONS = namesOf<ManyOptions>({ dryRun: true, limit: true, each: true, isRefusal: true })

type Lists = Pick<ListStore, 'jobIds' | 'jobCounts'>
type JobAction = 'cancel' | 'retry'

/**
 * The states in which an action can change a job. Blocked jobs are cancelled first, because cancelling a waiting job
 * would make a blocked job claimable.
 */
const ACTION_STATES: Readonly<Record<JobAction, readonly JobState[]>> = {
  cancel: ['blocked', 'waiting', 'running', 'external'],
  retry: ['failed', 'cancelled'],
}
const DEFAULT_STATES: Readonly<Record<JobAction, readonly JobState[]>> = {
  cancel: ACTION_STATES.cancel,
  retry: ['failed'],
}

/**
 * Which jobs are changed. Without a state, the filter of `cancelMany` matches all open jobs, and that of `retryMany`
 * matches all failed jobs.
 */
export type ManyJobs = { readonly ids: readonly string[] } | { readonly filter: JobConditions }

/** Options for `cancelMany` and `retryMany`. */
export interface ManyOptions {
  /** Only counts the jobs that match. */
  readonly dryRun?: boolean | undefined
  /**
   * Maximum number of jobs to change; if given, the search is bounded as in a list. Default: no limit, and all rows are
   * searched.
   */
  readonly limit?: number | undefined
  /**
   * Called for each job. Must call `change`, which changes the job and returns it. If this function throws an error
   * that `isRefusal` accepts, only this job is refused.
   */
  readonly each?: (id: string, change: () => Promise<Job>) => Promise<void>
  /**
   * Whether an error means that only this job is refused; any other error ends the call. Default: true for
   * NotFoundError, ConflictError, ForbiddenError and LimitError.
   */
  readonly isRefusal?: (error: unknown) => boolean
}

/** The result of changing many jobs. */
export interface ManyResult {
  /** How many jobs match. */
  readonly matched: number
  /** False if more than `matched` jobs match, or may match. */
  readonly matchedIsExact: boolean
  readonly changed: readonly string[]
  readonly refused: readonly { readonly id: string; readonly error: unknown }[]
  /** Whether jobs that match, or may match, were left out because of the limit. */
  readonly more: boolean
}

interface Found extends Pick<ManyResult, 'matched' | 'matchedIsExact' | 'more'> {
  readonly ids: readonly string[]
}

/**
 * Changes the jobs one at a time. The jobs are selected before the first change.
 *
 * @param change  returns the job afterwards, or throws a ConflictError if it cannot be changed
 * @throws InvalidInputError if the filter names a state whose jobs the action cannot change, or if the limit is invalid
 */
export async function changeMany(
  lists: Lists,
  action: JobAction,
  change: (id: string) => Promise<Job>,
  which: ManyJobs,
  options: ManyOptions,
): Promise<ManyResult> {
  checkKeys(options, OPTIONS)
  checkWhich(which)
  const { dryRun = false, limit, each = (_id, act) => act(), isRefusal = isRefused } = options
  checkedFlag('dryRun', dryRun)
  checkedFunction('each', each)
  checkedFunction('isRefusal', isRefusal)
  const most = checkedWhole('limit', limit, 1, Number.MAX_SAFE_INTEGER) ?? Infinity
  const { ids, ...found } =
    'ids' in which ? given(which.ids, most) : await matching(lists, action, which.filter, most)
  const changed: string[] = []
  const refused: { id: string; error: unknown }[] = []
  if (dryRun) return { ...found, changed, refused, more: false }
  for (const id of ids) {
    try {
      await each(id, () => change(id))
      changed.push(id)
    } catch (error) {
      if (!isRefusal(error)) throw error
      refused.push({ id, error })
    }
  }
  return { ...found, changed, refused }
}

/** @throws InvalidInputError */
function checkWhich(which: ManyJobs): void {
  checkKeys(which, ['ids', 'filter'], '', 'jobs')
  if ('ids' in which) {
    checkKeys(which, ['ids'])
    for (const id of checkedList('ids', which.ids, 'ids of jobs')) checkedId('job', id, 'ids')
  } else if ('filter' in which) checkedConditions('filter.', which.filter, JOB_FILTERS)
  else throw new InvalidInputError('jobs', 'must have ids or a filter, got {}')
}

function given(ids: readonly string[], limit: number): Found {
  const all = [...new Set(ids)]
  const some = all.slice(0, limit)
  return { ids: some, matched: all.length, matchedIsExact: true, more: some.length < all.length }
}

async function matching(
  lists: Lists,
  action: JobAction,
  filter: JobConditions,
  limit: number,
): Promise<Found> {
  const found: string[] = []
  // Without a limit, all rows are searched.
  const bounds = limit === Infinity ? NO_BOUNDS : LIST_BOUNDS
  let isComplete = true
  for (const state of statesOf(action, filter)) {
    if (found.length === limit) break
    const some = await lists.jobIds({ ...filter, state }, limit - found.length, bounds)
    found.push(...some.ids)
    isComplete &&= some.isComplete
  }
  // A job whose state changes during the search may be found twice.
  const unique = [...new Set(found)]
  if (limit === Infinity)
    return { ids: unique, matched: unique.length, matchedIsExact: isComplete, more: false }
  const { counts, isExact } = await lists.jobCounts(filter)
  const matched = statesOf(action, filter).reduce((sum, state) => sum + (counts[state] ?? 0), 0)
  return { ids: unique, matched, matchedIsExact: isExact, more: matched > unique.length || !isExact }
}

function statesOf(action: JobAction, { state }: JobConditions): readonly JobState[] {
  if (state === undefined) return DEFAULT_STATES[action]
  if (ACTION_STATES[action].includes(state)) return [state]
  throw new InvalidInputError(
    'filter.state',
    `must be one of ${ACTION_STATES[action].join(', ')} to ${action} jobs, got ${state}`,
  )
}

function isRefused(error: unknown): boolean {
  return [NotFoundError, ConflictError, ForbiddenError, LimitError].some((kind) => error instanceof kind)
}
