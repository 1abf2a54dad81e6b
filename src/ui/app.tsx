import { Fragment, type FunctionComponent } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { following, type LiveState, liveState, toggleFollowing } from './api/live.ts'
import { helpShown, KEYS, keysOn, setKeys } from './keyboard.ts'
import { CalendarPage } from './pages/Calendar.tsx'
import { EditSchedule, NewSchedule } from './pages/EditSchedule.tsx'
import { JobPage } from './pages/Job.tsx'
import { JobsPage } from './pages/Jobs.tsx'
import { Overview } from './pages/Overview.tsx'
import { SchedulePage } from './pages/Schedule.tsx'
import { SchedulesPage } from './pages/Schedules.tsx'
import { WorkersPage } from './pages/Workers.tsx'
import { Button } from './parts/Button.tsx'
import { Dialog, Questions } from './parts/dialog.tsx'
import { Icon } from './parts/Icon.tsx'
import { Empty } from './parts/placeholders.tsx'
import { Toasts } from './parts/toast.tsx'
import { link, PLACES, segments } from './router.ts'
import { isScoped, session } from './session.ts'
import { signIn, signInNeeded } from './sign-in.ts'
import { toggleZone, zone } from './time/clock.ts'

const LIVE: Readonly<Record<LiveState, readonly [word: string, meaning: string]>> = {
  live: ['Live', 'The page updates as changes happen. Press to pause updates.'],
  connecting: ['Connecting', 'Connecting to the server'],
  lost: ['Not connected', 'The server cannot be reached; trying again. The data may be out of date.'],
  paused: ['Paused', 'Updates are paused. Press to resume them.'],
}

export function App() {
  return (
    <>
      <a
        class="skip button"
        href="#main"
        onClick={(event) => {
          event.preventDefault()
          document.querySelector<HTMLElement>('h1')?.focus()
        }}
      >
        Skip to content
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
        <span class="tag" title="You can view everything, but change nothing">
          <Icon name="blocked" /> Read only
        </span>
      )}
      <button
        type="button"
        class={`plain live is-${liveState.value}`}
        title={meaning}
        aria-pressed={!following.value}
        onClick={toggleFollowing}
      >
        <span class="dot" />
        {word}
      </button>
      <button type="button" class="plain no-phone" title="The time zone of the page" onClick={toggleZone}>
        <span class="hidden">Times are shown in </span>
        {zone.value}
      </button>
      <Button
        label="?"
        kind="plain no-phone"
        aria-label="Keyboard and help"
        title="Keyboard and help (?)"
        onClick={() => {
          helpShown.value = true
        }}
      />
    </div>
  )
}

type Page = readonly [FunctionComponent<{ id: string }>, title: string]

function Current() {
  const [place = '', id = '', ...rest] = segments.value
  // `*` stands for any id.
  const pages = new Map<string, Page>([
    ['', [Overview, 'Overview']],
    ['schedules', [SchedulesPage, 'Schedules']],
    ['schedules/new', [NewSchedule, 'New schedule']],
    ['schedules/*', [SchedulePage, id]],
    ['schedules/*/edit', [EditSchedule, `Edit ${id}`]],
    ['calendar', [CalendarPage, 'Calendar']],
    ['jobs', [JobsPage, 'Jobs']],
    ['jobs/*', [JobPage, `Job ${id}`]],
    ['workers', [WorkersPage, 'Workers']],
  ])
  const path = segments.value.join('/')
  const [Shown, title] = pages.get(path) ??
    pages.get([place, '*', ...rest].join('/')) ?? [NotFound, 'Not found']
  useEffect(() => {
    document.title = `${title} · Kalends`
  }, [title])
  return <Shown key={path} id={id} />
}

function NotFound() {
  return (
    <>
      <h1 tabIndex={-1}>Not found</h1>
      <Empty title="No page at this address">
        <a href={link([])}>Overview</a>
      </Empty>
    </>
  )
}

function SignIn() {
  const token = useRef<HTMLInputElement>(null)
  return (
    <form
      class="sheet"
      onSubmit={(event) => {
        event.preventDefault()
        signIn(token.current?.value.trim() ?? '')
        location.reload()
      }}
    >
      <h1 tabIndex={-1}>Sign in</h1>
      <p class="lead">
        Sign in with an access token, or open the sign-in link that the server printed when it started.
      </p>
      <div class="field">
        <label for="token">Token</label>
        <input id="token" ref={token} type="password" autocomplete="current-password" required />
      </div>
      <div class="field">
        <button class="primary" style={{ width: 'max-content' }}>
          Sign in
        </button>
      </div>
    </form>
  )
}

function closeHelp(): void {
  helpShown.value = false
}

function Help() {
  return (
    <Dialog title="Keyboard" onClose={closeHelp}>
      <dl class="keys">
        {KEYS.map(([keys, meaning]) => (
          <Fragment key={keys}>
            <dt>
              {keys.split(/\s+/).map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </Fragment>
        ))}
      </dl>
      <label class="row check">
        <input
          type="checkbox"
          checked={keysOn.value}
          onChange={(event) => setKeys(event.currentTarget.checked)}
        />
        Enable keyboard shortcuts
      </label>
      <p class="quiet">
        Times are relative; hover over one for the exact time in {zone.value} and UTC.
        {session.value?.user != null && ` You are signed in as ${session.value.user}.`}
      </p>
      <div class="row dialog-actions">
        <Button label="Close" autoFocus onClick={closeHelp} />
      </div>
    </Dialog>
  )
}
