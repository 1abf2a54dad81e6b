/** New and edit: one form, which sends only what differs. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { calls, urls } from '../api/calls.ts'
import { ApiError } from '../api/client.ts'
import { notify } from '../api/live.ts'
import { useApi } from '../api/query.ts'
import type { Schedule, Task } from '../api/types.ts'
import { Icon } from '../parts/Icon.tsx'
import { Empty, Failure, Loading } from '../parts/placeholders.tsx'
import { TimerField } from '../parts/TimerField.tsx'
import { toast, toastError } from '../parts/toast.tsx'
import { go, link } from '../router.ts'
import { mayEdit, session } from '../session.ts'
import { myZone } from '../time/format.ts'
import {
  EMPTY,
  type Entries,
  entriesOf,
  type Field as Setting,
  InvalidArgs,
  type Name,
  POLICIES,
  settingsOf,
} from './schedule-form.ts'

export function NewSchedule() {
  return (
    <Allowed title="New schedule">
      <Form title="New schedule" before={null} />
    </Allowed>
  )
}

export function EditSchedule({ id }: { readonly id: string }) {
  const { data, error, reload } = useApi<Schedule>(urls.schedule(id), [])
  return (
    <Allowed title={`Edit ${id}`}>
      {data === undefined ? (
        <>
          <h1 tabIndex={-1}>Edit {id}</h1>
          {error === undefined ? <Loading /> : <Failure error={error} onRetry={reload} />}
        </>
      ) : (
        <Form title={`Edit ${id}`} before={data} />
      )}
    </Allowed>
  )
}

function Allowed({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  if (session.value === null || mayEdit.value) return <>{children}</>
  return (
    <>
      <h1 tabIndex={-1}>{title}</h1>
      <Empty title="You may look at schedules, not change them">
        Creating schedules needs the role 'admin'. Your role is '{session.value.role}'.
      </Empty>
    </>
  )
}

/** What a value looks like. */
const FORMS: Readonly<Partial<Record<Setting['kind'], string>>> = {
  span: ', such as 10min',
  instant: ` (${myZone})`,
}

function helpOf({ kind, help, otherwise }: Setting): string {
  return `${help}${FORMS[kind] ?? ''}${otherwise === undefined ? '' : `; empty: ${otherwise}`}`
}

function choicesOf({ values = {}, otherwise }: Setting): (readonly [value: string, words: string])[] {
  return [...(otherwise === undefined ? [] : [['', otherwise] as const]), ...Object.entries(values)]
}

/** By the field's name; null: no field is to blame. */
function fieldErrorsOf(error: unknown): Readonly<Record<string, string>> | null {
  if (error instanceof InvalidArgs) return { args: error.message }
  return error instanceof ApiError && Object.keys(error.fields).length > 0 ? error.fields : null
}

function Form({ title, before: now }: { readonly title: string; readonly before: Schedule | null }) {
  // As it was when the form was opened: a concurrent edit must not be overwritten.
  const [before] = useState(now)
  const [entries, setEntries] = useState<Entries>(before === null ? EMPTY : entriesOf(before))
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({})
  const [isSending, setSending] = useState(false)
  const tasks = useApi<{ readonly items: readonly Task[] }>(urls.tasks(), [])
  const timerZone = entries.zone || session.value?.zone || 'UTC'
  const set = (name: Name) => (value: string) => {
    setEntries((all) => ({ ...all, [name]: value }))
    setErrors((all) => Object.fromEntries(Object.entries(all).filter(([field]) => field !== name)))
  }
  const save = async () => {
    setSending(true)
    try {
      const settings = settingsOf(entries, before)
      const saved = before === null ? await calls.create(settings) : await calls.change(before, settings)
      notify(new Set(['schedules']))
      toast(before === null ? `${saved.id} is made` : `${saved.id} is changed`)
      go(link(['schedules', saved.id]))
    } catch (error) {
      const found = fieldErrorsOf(error)
      if (found === null) toastError(error)
      else {
        setErrors(found)
        // Not what is marked as invalid: that may be a timer whose correction is still being checked.
        const named = Object.keys(found).map((name) => `form [id="${CSS.escape(name)}"]`)
        requestAnimationFrame(() => document.querySelector<HTMLElement>(named.join(', '))?.focus())
      }
    } finally {
      setSending(false)
    }
  }
  const text = (name: Name, label: string, help?: ComponentChildren, more: Record<string, unknown> = {}) => (
    <Field name={name} label={label} help={help} error={errors[name]}>
      <input
        id={name}
        value={entries[name]}
        aria-invalid={errors[name] !== undefined}
        aria-describedby={`${name}-help`}
        onInput={(event) => set(name)(event.currentTarget.value)}
        {...more}
      />
    </Field>
  )
  const choice = (
    name: Name,
    label: string,
    options: readonly (readonly [string, string])[],
    help?: string,
  ) => (
    <Field name={name} label={label} help={help} error={errors[name]}>
      <select
        id={name}
        value={entries[name]}
        aria-describedby={`${name}-help`}
        onChange={(event) => set(name)(event.currentTarget.value)}
      >
        {options.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    </Field>
  )
  const policy = (field: Setting) =>
    field.values === undefined
      ? text(field.name, field.label, helpOf(field), {
          ...(field.kind === 'whole' && { inputMode: 'numeric' }),
          ...(field.kind === 'instant' && { type: 'datetime-local' }),
        })
      : choice(field.name, field.label, choicesOf(field), field.help)
  const others = Object.keys(errors).filter((name) => !(name in EMPTY))

  return (
    <form
      class="sheet"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void save()
      }}
    >
      <a class="crumb" href={link(['schedules'])}>
        Schedules
      </a>
      <h1 tabIndex={-1}>{title}</h1>
      {before !== null && before.declaredBy !== null && (
        <p class="hint">
          <Icon name="late" /> The code declares this schedule in the set '{before.declaredBy}' and wins at
          the next deployment. To change it for good, change the code; pausing it lasts.
        </p>
      )}
      {others.map((name) => (
        <p key={name} class="hint" role="alert">
          <Icon name="late" /> {name}: {errors[name]}
        </p>
      ))}
      <TimerField
        value={entries.timer}
        onChange={set('timer')}
        timerZone={timerZone}
        anchor={before?.created}
        refused={errors['timer']}
      />
      <div class="pair">
        {before === null &&
          text('task', 'Task', 'What runs', {
            list: 'tasks',
            required: true,
            autocomplete: 'off',
            spellcheck: false,
          })}
        {before === null &&
          text('id', 'Id', 'Of your choosing; empty: a new one is made', {
            autocomplete: 'off',
            spellcheck: false,
          })}
        {text(
          'zone',
          'Zone',
          `For a timer that names none; the server's is ${session.value?.zone ?? 'UTC'}`,
          {
            list: 'zones',
            placeholder: session.value?.zone ?? 'UTC',
            autocomplete: 'off',
          },
        )}
        {text('summary', 'Summary', 'What it is for')}
      </div>
      <Field name="args" label="Args" help="JSON, as the task takes them" error={errors['args']}>
        <textarea
          id="args"
          class="mono"
          rows={Math.min(16, Math.max(3, entries.args.split('\n').length))}
          spellcheck={false}
          value={entries.args}
          aria-invalid={errors['args'] !== undefined}
          aria-describedby="args-help"
          onInput={(event) => set('args')(event.currentTarget.value)}
        />
      </Field>
      <details
        class="more"
        open={['firstRun', ...POLICIES.map(({ name }) => name)].some((name) => errors[name] !== undefined)}
      >
        <summary>Policies: overlap, missed slots, retries, bounds, owner</summary>
        <div class="pair">
          {POLICIES.map((field) => policy(field))}
          {before === null &&
            choice('firstRun', 'First run', [
              ['next', 'when the timer elapses'],
              ['now', 'at once'],
              ['if-due', 'at once, if the timer elapses in this minute'],
            ])}
        </div>
      </details>
      <datalist id="tasks">
        {tasks.data?.items.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <datalist id="zones">
        {Intl.supportedValuesOf('timeZone').map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <div class="form-actions">
        <button class="primary" disabled={isSending}>
          {before === null ? 'Create schedule' : 'Save'}
        </button>
        <a class="button" href={link(before === null ? ['schedules'] : ['schedules', before.id])}>
          Cancel
        </a>
      </div>
    </form>
  )
}

interface FieldProps {
  readonly name: string
  readonly label: string
  readonly help?: ComponentChildren
  readonly error: string | undefined
  readonly children: ComponentChildren
}

function Field({ name, label, help, error, children }: FieldProps) {
  return (
    <div class="field">
      <label for={name}>{label}</label>
      {children}
      <span id={`${name}-help`}>
        {error === undefined ? (
          <span class="help">{help}</span>
        ) : (
          <span class="wrong">
            <Icon name="late" /> {error}
          </span>
        )}
      </span>
    </div>
  )
}
