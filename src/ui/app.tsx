import type { ComponentChildren, FunctionComponent } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { signIn, signInNeeded } from './api/client.ts'
import { following, type LiveState, liveState } from './api/live.ts'
import { helpShown, KEYS, keysOn, setKeys } from './keyboard.ts'
import { CalendarPage } from './pages/Calendar.tsx'
import { EditSchedule, NewSchedule } from './pages/EditSchedule.tsx'
import { JobPage } from './pages/Job.tsx'
import { JobsPage } from './pages/Jobs.tsx'
import { Overview } from './pages/Overview.tsx'
import { SchedulePage } from './pages/Schedule.tsx'
import { SchedulesPage } from './pages/Schedules.tsx'
import { WorkersPage } from './pages/Workers.tsx'
import { Dialog, Questions } from './parts/dialog.tsx'
import { Icon, type IconName } from './parts/Icon.tsx'
import { Empty } from './parts/placeholders.tsx'
import { Toasts } from './parts/toast.tsx'
import { link, segments } from './router.ts'
import { isScoped, session } from './session.ts'
import { nextTheme, theme } from './theme.ts'
import { toggleZone, zone } from './time/clock.ts'

const PLACES: readonly {
  readonly name: IconName
  readonly title: string
  readonly path: readonly string[]
}[] = [
  { name: 'overview', title: 'Overview', path: [] },
  { name: 'schedules', title: 'Schedules', path: ['schedules'] },
  { name: 'calendar', title: 'Calendar', path: ['calendar'] },
  { name: 'jobs', title: 'Jobs', path: ['jobs'] },
  { name: 'workers', title: 'Workers', path: ['workers'] },
]

const LIVE: Readonly<Record<LiveState, readonly [word: string, meaning: string]>> = {
  live: ['Live', 'Changes show as they happen. Press to hold the page still.'],
  connecting: ['Connecting', 'Connecting to the server'],
  lost: ['Not connected', 'The server cannot be reached; trying again. What is shown may be out of date.'],
  paused: ['Held', 'The page is held still. Press to follow changes again.'],
}

export function App() {
  return (
    <>
      <a
        class="skip button"
        href="#main"
        data-plain=""
        onClick={(event) => {
          event.preventDefault()
          document.querySelector<HTMLElement>('h1')?.focus()
        }}
      >
        Skip to the page
      </a>
      <header class="top">
        <a class="brand" href={link([])}>
          <img src="./icon.svg" alt="" />
          Kalends
        </a>
        <nav class="places" aria-label="Pages">
          {PLACES.filter(({ name }) => name !== 'workers' || !isScoped.value).map(({ name, title, path }) => (
            <a key={name} href={link(path)} aria-current={segments.value[0] === path[0] ? 'page' : undefined}>
              <Icon name={name} />
              {title}
            </a>
          ))}
        </nav>
        <Tools />
      </header>
      <main id="main">{signInNeeded.value ? <SignIn /> : <Current />}</main>
      <Toasts />
      <Questions />
      {helpShown.value && <Help />}
    </>
  )
}

function Tools() {
  const [word, meaning] = LIVE[liveState.value]
  return (
    <div class="top-tools">
      {session.value?.role === 'read' && (
        <span class="tag" title="You may look at everything and change nothing">
          <Icon name="lock" /> Read only
        </span>
      )}
      <button
        type="button"
        class={`plain live is-${liveState.value}`}
        title={meaning}
        aria-pressed={!following.value}
        onClick={() => {
          following.value = !following.value
        }}
      >
        <span class="dot" />
        {word}
      </button>
      <button
        type="button"
        class="plain no-phone"
        title="The zone in which times are shown"
        onClick={toggleZone}
      >
        <span class="hidden">Times are shown in </span>
        {zone.value}
      </button>
      <button
        type="button"
        class="plain"
        aria-label={`Theme: ${theme.value}`}
        title={`Theme: ${theme.value}`}
        onClick={nextTheme}
      >
        <Icon name="theme" />
      </button>
      <button
        type="button"
        class="plain no-phone"
        aria-label="Keyboard and help"
        title="Keyboard and help (?)"
        onClick={() => {
          helpShown.value = true
        }}
      >
        ?
      </button>
    </div>
  )
}

/** Which page an address means. */
function Current() {
  const [place, id, part] = segments.value
  const page = ((): readonly [FunctionComponent<{ id: string }>, string] | null => {
    if (place === undefined) return [Overview, 'Overview']
    if (place === 'schedules') {
      if (id === undefined) return [SchedulesPage, 'Schedules']
      if (id === 'new' && part === undefined) return [NewSchedule, 'New schedule']
      if (part === 'edit') return [EditSchedule, `Edit ${id}`]
      return part === undefined ? [SchedulePage, id] : null
    }
    if (place === 'jobs') return id === undefined ? [JobsPage, 'Jobs'] : [JobPage, `Job ${id}`]
    if (id !== undefined) return null
    if (place === 'calendar') return [CalendarPage, 'Calendar']
    return place === 'workers' ? [WorkersPage, 'Workers'] : null
  })()
  const title = page?.[1] ?? 'Not found'
  useEffect(() => {
    document.title = `${title} · Kalends`
  }, [title])
  if (page === null) return <NotFound />
  const [Shown] = page
  return <Shown key={`${place ?? ''}/${id ?? ''}/${part ?? ''}`} id={id ?? ''} />
}

function NotFound() {
  return (
    <>
      <h1 tabIndex={-1}>Not found</h1>
      <Empty title="There is no page at this address">
        <a href={link([])}>Overview</a>
      </Empty>
    </>
  )
}

function SignIn() {
  const [token, setToken] = useState('')
  return (
    <form
      class="sheet"
      onSubmit={(event) => {
        event.preventDefault()
        signIn(token.trim())
        location.reload()
      }}
    >
      <h1 tabIndex={-1}>Sign in</h1>
      <p class="lead">
        Sign in with an access token, or open the sign-in link that the server printed when it started.
      </p>
      <div class="field">
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autocomplete="current-password"
          required
          value={token}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
      </div>
      <div class="field">
        <button class="primary" style={{ width: 'max-content' }}>
          Sign in
        </button>
      </div>
    </form>
  )
}

function Help() {
  return (
    <Dialog
      title="Keyboard"
      onClose={() => {
        helpShown.value = false
      }}
    >
      <dl class="keys">
        {KEYS.map(([keys, meaning]) => (
          <Row key={keys} name={keys.split(/\s+/).map((key) => <kbd key={key}>{key}</kbd>)}>
            {meaning}
          </Row>
        ))}
      </dl>
      <label class="check">
        <input
          type="checkbox"
          checked={keysOn.value}
          onChange={(event) => setKeys(event.currentTarget.checked)}
        />
        Keys of one letter work
      </label>
      <p class="quiet">
        Times are relative; point at one for the exact time in {zone.value} and UTC.
        {session.value?.user != null && ` You are ${session.value.user}.`}
      </p>
      <div class="dialog-actions">
        <button
          type="button"
          autoFocus
          onClick={() => {
            helpShown.value = false
          }}
        >
          Close
        </button>
      </div>
    </Dialog>
  )
}

function Row({ name, children }: { readonly name: ComponentChildren; readonly children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  )
}
