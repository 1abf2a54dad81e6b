import { useState } from 'preact/hooks'
import { actOnJobs, actOnMatching, BULK_JOB_ACTIONS } from '../actions.tsx'
import type { ListedJob } from '../generated/api.ts'
import { useApi } from '../api/query.ts'
import { Button } from '../parts/Button.tsx'
import { PageHead, RowLink } from '../parts/layout.tsx'
import { type BulkAction, FilterChips, filtersOf, List, paging, Search, StateCounts } from '../parts/list.tsx'
import { Empty } from '../parts/placeholders.tsx'
import { Select } from '../parts/Select.tsx'
import type { Column } from '../parts/Table.tsx'
import { link, query, setQuery } from '../router.ts'
import { mayOperate, session } from '../session.ts'
import { JOB_STATES } from '../../model/states.ts'
import { zone } from '../time/clock.ts'
import { Ago } from '../time/Time.tsx'
import { count, exact } from '../time/format.ts'
import { Errors } from './Errors.tsx'
import { attemptColumn, outcomeColumn, ScheduleOf, stateColumn, tookColumn } from './job-columns.tsx'

const FILTERS = ['task', 'scheduleId', 'group', 'submitter', 'worker', 'finishedFrom', 'finishedTo'] as const
const LABELS: Readonly<Record<string, string>> = {
  scheduleId: 'schedule',
  finishedFrom: 'ended from',
  finishedTo: 'ended before',
}

/** The fields for the search box, which searches only one of them at a time. */
const SEARCHED = ['id', 'error', 'args'] as const

/** A field that the address already contains is also offered: the server then explains why it cannot be searched. */
const searchedFields = () =>
  SEARCHED.filter(
    (name) => name in query.value || !session.value?.unsearchable.some((field) => field === name),
  )

const columns: readonly Column<ListedJob>[] = [
  stateColumn,
  {
    title: 'Job',
    kind: 'main',
    cell: (job) => (
      <>
        <RowLink href={link(['jobs', job.id])}>{job.task}</RowLink>
        {job.subject !== null && <span class="quiet aside">&nbsp;{job.subject}</span>}
        {job.scheduleId !== null && (
          <span class="below">
            <ScheduleOf job={job} />
            {job.run !== null && `, run ${count(job.run)}`}
          </span>
        )}
      </>
    ),
  },
  { title: 'Slot', cell: ({ slot, submittedAt: submitted }) => <Ago at={slot ?? submitted} /> },
  { title: 'Ended', kind: 'no-phone', cell: ({ finishedAt }) => <Ago at={finishedAt} /> },
  attemptColumn,
  tookColumn,
  outcomeColumn,
]

const BULK: readonly BulkAction[] = [
  { label: 'Retry', run: (ids) => actOnJobs(ids, 'retry') },
  { label: 'Cancel', run: (ids) => actOnJobs(ids, 'cancel'), isDangerous: true },
]

export function JobsPage() {
  const { state, by } = query.value
  const isGrouped = by === 'error'
  const filter = filtersOf([...FILTERS, ...SEARCHED])
  const counts = useApi('/api/v1/counts/jobs', { query: filter }, ['jobs'])
  return (
    <>
      <PageHead title="Jobs">
        <Button
          label={isGrouped ? 'Show each job' : 'Group failures by error'}
          href={link(['jobs'], { ...filter, state, by: isGrouped ? undefined : 'error' })}
          aria-current={isGrouped ? 'true' : undefined}
        />
      </PageHead>
      <StateCounts names={JOB_STATES} counts={counts.data} entry="state" />
      <Filters />
      {isGrouped ? <Errors filter={filter} /> : <JobList state={state} filter={filter} />}
    </>
  )
}

interface JobListProps {
  readonly state: string | undefined
  readonly filter: Readonly<Record<string, string>>
}

function JobList({ state, filter }: JobListProps) {
  const wanted = { ...filter, state, ...paging() }
  const list = useApi('/api/v1/jobs', { query: wanted }, ['jobs'])
  return (
    <List
      query={list}
      title="Jobs"
      columns={columns}
      filter={{ ...filter, state, after: wanted.after }}
      empty={<Empty title="No jobs yet">Schedules submit jobs, and so can your code.</Empty>}
      actions={mayOperate.value ? BULK : []}
    >
      {mayOperate.value && <MatchingJobs state={state} filter={filter} />}
    </List>
  )
}

function Filters() {
  const [chosen, choose] = useState<string>(SEARCHED.find((name) => name in query.value) ?? 'id')
  const fields = searchedFields()
  // A link can add a field to the address while the page is open.
  const field = fields.find((name) => name in query.value) ?? fields.find((name) => name === chosen) ?? 'id'
  return (
    <div class="row filters" role="search">
      <Search
        key={field}
        name={field}
        label={`Search by ${field === 'id' ? 'the start of the id' : field}`}
      />
      <Select
        label="Field to search"
        value={field}
        options={Object.fromEntries(fields.map((name) => [name, `in ${name}`]))}
        onChange={(value) => {
          setQuery({ [field]: undefined, [value]: query.value[field] })
          choose(value)
        }}
      />
      <TaskFilter />
      <FilterChips
        names={FILTERS.filter((name) => name !== 'task')}
        labelOf={(name) => LABELS[name] ?? name}
        textOf={(value, name) => (name.startsWith('finished') ? boundText(value) : value)}
      />
    </div>
  )
}

/** Formats an instant from the address. Anyone can edit the address, so other text is returned unchanged. */
function boundText(value: string): string {
  const at = new Date(value)
  return Number.isNaN(at.getTime()) ? value : exact(at, zone.value)
}

function TaskFilter() {
  const tasks = useApi('/api/v1/tasks', {}, [])
  const { task = '' } = query.value
  const names = [task, ...(tasks.data?.items ?? []).map(({ name }) => name)].toSorted()
  const options = { ...Object.fromEntries(names.map((name) => [name, name])), '': 'All tasks' }
  return <Select label="Task" value={task} options={options} onChange={(name) => setQuery({ task: name })} />
}

function MatchingJobs({ state: text, filter }: JobListProps) {
  const state = JOB_STATES.find((name) => name === text)
  if (state === undefined || state === 'success' || state === 'skipped') return null
  const action = state === 'failed' || state === 'cancelled' ? 'retry' : 'cancel'
  const { label, isDangerous } = BULK_JOB_ACTIONS[action]
  return (
    <p>
      <Button
        label={`${label} all ${state} jobs in this list`}
        kind={isDangerous ? 'danger' : undefined}
        onClick={() => actOnMatching({ ...filter, state }, action)}
      />
    </p>
  )
}
