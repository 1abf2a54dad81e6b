/** Runs and skips of a schedule in one list, newest slot first. */
import { useState } from 'preact/hooks'
import { urls } from '../api/calls.ts'
import { get } from '../api/client.ts'
import { useApi } from '../api/query.ts'
import type { Job, Schedule } from '../api/types.ts'
import { Empty, Failure, Loading } from '../parts/placeholders.tsx'
import { State } from '../parts/State.tsx'
import { type Column, Table } from '../parts/Table.tsx'
import { toastError } from '../parts/toast.tsx'
import { link } from '../router.ts'
import { Ago, At, Took } from '../time/Time.tsx'
import { count, zoneOf } from '../time/format.ts'

const AT_ONCE = 25

const SKIPPED: Readonly<Record<string, string>> = {
  overlap: 'the run before it had not ended',
  missed: 'no scheduler was up, and no more are made up',
  'max runs': 'as many runs as max_runs allows were under way',
  unsubmittable: 'it could not be submitted',
}

/** A list leaves out an error whose first line is too long. */
function firstLine({ error, truncated }: Job): string {
  const line = error?.split('\n')[0] ?? ''
  const bytes = truncated?.['error']
  if (line !== '' || bytes === undefined) return line
  return `error of ${count(Math.ceil(bytes / 1000))} KB: open the run to see it`
}

export function outcome(job: Job): string {
  const many = job.missed > 1 ? `${count(job.missed)} slots: ` : ''
  if (job.state === 'skipped') return `${many}${SKIPPED[job.reason ?? ''] ?? job.reason ?? ''}`
  if (job.error !== null && job.state !== 'success') return firstLine(job)
  const missed = job.missed > 0 ? `stands for ${count(job.missed)} missed slots` : ''
  return missed === '' ? (job.reason ?? '') : missed
}

const columns = (own: string): readonly Column<Job>[] => [
  {
    title: 'State',
    cell: (job) => <State of={job.state} isRetry={job.state === 'waiting' && job.attempt > 0} />,
  },
  {
    title: 'Slot',
    phone: 'first',
    cell: ({ id, slot, submitted }) => (
      <a class="row-link" href={link(['jobs', id])}>
        <At at={slot ?? submitted} own={own} />
      </a>
    ),
  },
  {
    title: 'Run',
    isNumber: true,
    cell: ({ run }) => (run === null ? <span class="none">–</span> : count(run)),
  },
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
  { title: 'Ended', cell: ({ finished }) => <Ago at={finished} own={own} /> },
  {
    title: 'What happened',
    class: 'wide',
    cell: (job) => <span class={job.state === 'failed' ? 'clip bad' : 'clip quiet'}>{outcome(job)}</span>,
  },
]

export function History({ schedule: { id, timer } }: { readonly schedule: Schedule }) {
  const first = useApi<{ readonly items: readonly Job[] }>(urls.history(id, { limit: AT_ONCE }), ['jobs'])
  const [older, setOlder] = useState<readonly Job[]>([])
  const [isEnd, setEnd] = useState(false)
  const newest = first.data?.items ?? []
  const known = new Set(newest.map((job) => job.id))
  const jobs = [...newest, ...older.filter((job) => !known.has(job.id))]
  const last = jobs.at(-1)
  const more = async () => {
    try {
      const before = last?.slot ?? undefined
      const { items } = await get<{ readonly items: readonly Job[] }>(
        urls.history(id, { limit: AT_ONCE * 2, before }),
      )
      setOlder([...jobs.slice(newest.length), ...items])
      setEnd(items.length < AT_ONCE * 2)
    } catch (error) {
      toastError(error)
    }
  }
  return (
    <section>
      <div class="section-head">
        <h2>Run history</h2>
        <a href={link(['jobs'], { schedule: id })}>All jobs</a>
      </div>
      {first.data === undefined ? (
        first.error === undefined ? (
          <Loading rows={5} />
        ) : (
          <Failure error={first.error} onRetry={first.reload} />
        )
      ) : jobs.length === 0 ? (
        <Empty title="Nothing yet" />
      ) : (
        <>
          <Table
            label="Runs and skips"
            rows={jobs}
            idOf={(job) => job.id}
            columns={columns(zoneOf(timer))}
            view={String(older.length)}
          />
          {newest.length >= AT_ONCE && !isEnd && (
            <div class="pager">
              <button type="button" onClick={() => void more()}>
                Older
              </button>
            </div>
          )}
        </>
      )}
    </section>
  )
}
