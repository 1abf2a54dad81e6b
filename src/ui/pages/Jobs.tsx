/** Jobs by state, task, error; many at once. */
import { useState } from 'preact/hooks'
import { cancelJobs, retryJobs } from '../actions.tsx'
import { urls } from '../api/calls.ts'
import { useApi } from '../api/query.ts'
import { type Counts, type Job, JOB_STATES, type JobState, type Page, type Task } from '../api/types.ts'
import { Chip, PAGE_SIZE, Pager, pageNumber, Search, StateCounts } from '../parts/list.tsx'
import { Empty, Failure, Loading, Stale } from '../parts/placeholders.tsx'
import { State } from '../parts/State.tsx'
import { type Column, Table } from '../parts/Table.tsx'
import { link, query, setQuery } from '../router.ts'
import { isScoped, mayOperate } from '../session.ts'
import { Ago, Took } from '../time/Time.tsx'
import { count } from '../time/format.ts'
import { Errors } from './Errors.tsx'
import { outcome } from './History.tsx'
import { MatchingJobs } from './MatchingJobs.tsx'

/** What a search looks in: each is a search of its own, as an index or a bounded look serves it. */
const FIELDS = [
  ['id', 'id (its beginning)'],
  ['error', 'error'],
  ['args', 'args'],
] as const

const FILTERS = ['task', 'schedule', 'group', 'submitter', 'worker', 'finishedFrom', 'finishedTo'] as const

/** What callers with a scope cannot search by: parts of it are hidden from them. */
const UNSCOPED: ReadonlySet<string> = new Set(['error', 'worker'])

function fields() {
  return FIELDS.filter(([name]) => !isScoped.value || !UNSCOPED.has(name))
}

function filters() {
  return FILTERS.filter((name) => !isScoped.value || !UNSCOPED.has(name))
}

const columns: readonly Column<Job>[] = [
  {
    title: 'State',
    cell: (job) => <State of={job.state} isRetry={job.state === 'waiting' && job.attempt > 0} />,
  },
  {
    title: 'Job',
    phone: 'first',
    class: 'wide',
    cell: (job) => (
      <>
        <a class="row-link name" href={link(['jobs', job.id])}>
          {job.task}
        </a>
        {job.subject !== null && <span class="quiet aside">&nbsp;{job.subject}</span>}
        {job.scheduleId !== null && (
          <span class="below">
            <a class="quiet" href={link(['schedules', job.scheduleId])}>
              {job.scheduleId}
            </a>
            {job.run !== null && `, run ${count(job.run)}`}
          </span>
        )}
      </>
    ),
  },
  { title: 'Slot', cell: ({ slot, submitted }) => <Ago at={slot ?? submitted} /> },
  { title: 'Ended', phone: 'none', cell: ({ finished }) => <Ago at={finished} /> },
  {
    title: 'Attempt',
    isNumber: true,
    cell: ({ attempt }) => (attempt === 0 ? <span class="none">–</span> : attempt),
  },
  {
    title: 'Took',
    isNumber: true,
    cell: ({ started, finished, state }) => (
      <Took
        from={state === 'skipped' || (finished === null && state !== 'running') ? null : started}
        to={finished}
      />
    ),
  },
  {
    title: 'What happened',
    class: 'wide',
    cell: (job) => (
      <span class={job.state === 'failed' ? 'clip bad' : 'clip quiet'}>
        {job.state === 'waiting' && job.runAt !== null ? <NotBefore at={job.runAt} /> : outcome(job)}
      </span>
    ),
  },
]

function NotBefore({ at }: { readonly at: string }) {
  return (
    <>
      runs <Ago at={at} />
    </>
  )
}

export function JobsPage() {
  const { state, by } = query.value
  const page = pageNumber()
  const wanted = Object.fromEntries(
    [...filters(), ...fields().map(([name]) => name)].map((name) => [name, query.value[name]]),
  )
  const isGrouped = by === 'error'
  const list = useApi<Page<Job>>(
    isGrouped ? undefined : urls.jobs({ ...wanted, state, limit: PAGE_SIZE, offset: (page - 1) * PAGE_SIZE }),
    ['jobs'],
  )
  const counts = useApi<Counts<JobState>>(urls.jobCounts(wanted), ['jobs'])
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const isFiltered = state !== undefined || Object.values(wanted).some((value) => value !== undefined)

  return (
    <>
      <header class="head">
        <h1 tabIndex={-1}>Jobs</h1>
        <div class="actions">
          <a
            class="button"
            href={link(['jobs'], {
              ...wanted,
              ...(!isGrouped && { by: 'error' }),
              ...(state !== undefined && { state }),
            })}
            aria-current={isGrouped ? 'true' : undefined}
          >
            {isGrouped ? 'Show each job' : 'Group failures by error'}
          </a>
        </div>
      </header>
      <StateCounts names={JOB_STATES} counts={counts.data} entry="state" />
      <Filters />
      {isGrouped ? (
        <Errors wanted={wanted} />
      ) : (
        <>
          <Stale error={list.data === undefined ? undefined : list.error} />
          {list.data === undefined ? (
            list.error === undefined ? (
              <Loading />
            ) : (
              <Failure error={list.error} onRetry={list.reload} />
            )
          ) : list.data.items.length === 0 ? (
            <NoJobs isFiltered={isFiltered || page > 1} isExact={list.data.totalIsExact} />
          ) : (
            <>
              <Table
                label="Jobs"
                rows={list.data.items}
                idOf={({ id }) => id}
                columns={columns}
                view={JSON.stringify([wanted, state, page])}
                selection={mayOperate.value ? { ids: chosen, change: setChosen } : undefined}
              />
              <Pager page={page} of={list.data} what="jobs" />
              {mayOperate.value && <MatchingJobs state={state} wanted={wanted} />}
            </>
          )}
        </>
      )}
      {chosen.size > 0 && <Bulk ids={[...chosen]} onDone={() => setChosen(new Set())} />}
    </>
  )
}

function Filters() {
  const [initial] = fields().find(([name]) => query.value[name] !== undefined) ?? FIELDS[0]
  const [field, setField] = useState<string>(initial)
  return (
    <div class="filters" role="search">
      <Search
        key={field}
        name={field}
        label={`Search by ${FIELDS.find(([name]) => name === field)?.[1] ?? field}`}
      />
      <select
        aria-label="What to search in"
        value={field}
        onChange={(event) => {
          const next = event.currentTarget.value
          setQuery({ [field]: undefined, [next]: query.value[field] })
          setField(next)
        }}
      >
        {fields().map(([name]) => (
          <option key={name} value={name}>
            in {name}
          </option>
        ))}
      </select>
      <TaskFilter />
      {filters().map((name) => {
        const value = query.value[name]
        return (
          value !== undefined &&
          name !== 'task' && (
            <Chip key={name} name={name}>
              {NAMES[name] ?? name}{' '}
              <b>
                {name.startsWith('finished')
                  ? value.replace('T', ' ').replace(/:00(\.0+)?Z$/u, ' UTC')
                  : value}
              </b>
            </Chip>
          )
        )
      })}
    </div>
  )
}

const NAMES: Readonly<Record<string, string>> = { finishedFrom: 'ended from', finishedTo: 'ended before' }

function TaskFilter() {
  const { data } = useApi<{ readonly items: readonly Task[] }>(urls.tasks(), [])
  const chosen = query.value['task']
  const names = [
    ...new Set([...(data?.items ?? []).map((task) => task.name), ...(chosen === undefined ? [] : [chosen])]),
  ].toSorted()
  return (
    <select
      aria-label="Task"
      value={chosen ?? ''}
      onChange={(event) => setQuery({ task: event.currentTarget.value || undefined })}
    >
      <option value="">All tasks</option>
      {names.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  )
}

function NoJobs({ isFiltered, isExact }: { readonly isFiltered: boolean; readonly isExact: boolean }) {
  if (!isFiltered)
    return (
      <Empty title="There are no jobs yet">
        They come when a schedule elapses, or when code submits one.
      </Empty>
    )
  return (
    <Empty title="No job is like that">
      {!isExact && <p>Only the newest jobs were looked through: a state or a task narrows the search.</p>}
      <a href={link(['jobs'])}>Show all jobs</a>
    </Empty>
  )
}

function Bulk({ ids, onDone }: { readonly ids: readonly string[]; readonly onDone: () => void }) {
  const then = (done: Promise<boolean>) => void done.then((isDone) => isDone && onDone())
  return (
    <div class="bulk" role="region" aria-label="Selected jobs">
      <span>{count(ids.length)} selected</span>
      <button type="button" onClick={() => then(retryJobs(ids))}>
        Retry
      </button>
      <button type="button" class="danger" onClick={() => then(cancelJobs(ids))}>
        Cancel
      </button>
      <button type="button" class="plain" onClick={onDone}>
        Clear
      </button>
    </div>
  )
}
