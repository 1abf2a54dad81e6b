/**
 * The web application: signed-in users create, change and pause their own reminders.
 *
 * Every route uses `kalends.scope({ submitter: user })`. The scope is part of each SQL statement, so no route can reach
 * the reminders of another user, no matter what id a request contains.
 */
/* oxlint-disable oxc/no-async-endpoint-handlers -- Express 5 passes rejections to the error handler */
import express, { type ErrorRequestHandler, type Express, type Request, type Response } from 'express'
import {
  ConflictError,
  InvalidInputError,
  type Kalends,
  LimitError,
  NotFoundError,
  type Schedule,
} from 'kalends'
import { checkTimer, localText, type TimerError } from 'kalends/timer'
import { z } from 'zod'
import { remind } from './reminder.ts'

export interface AppOptions {
  /** Returns the user of a request, or null if no user is signed in. A real application uses its sessions. */
  readonly userOf: (request: Request) => string | null
}

const MAX_REMINDERS = 100

const zone = z.string().default('UTC')
const text = z.string().trim().min(1).max(500)
const timer = z.string().trim().min(1).max(400)
const newReminder = z.object({ text, timer, zone })
const changes = z.object({ text: text.optional(), timer: timer.optional(), zone })
const preview = z.object({ timer, zone, limit: z.number().int().min(1).max(20).default(5) })

/** Sent with status 422 and the column of the error, so that a form can highlight it. */
class TimerRefused extends Error {
  readonly timerError: Pick<TimerError, 'message' | 'column' | 'hint'>

  constructor(error: Pick<TimerError, 'message' | 'column' | 'hint'>) {
    super(error.message)
    this.timerError = error
  }
}

export function reminders(kalends: Kalends, { userOf }: AppOptions): Express {
  const app = express()
  app.disable('x-powered-by')
  app.use(express.json({ limit: '10kb' }))

  /** The schedules of the user who sent the request. Every route calls this function. */
  const schedulesOf = (request: Request) => {
    const user = userOf(request)
    if (user === null) throw new NotSignedIn()
    return kalends.scope({ submitter: user, tasks: [remind.name], limits: { schedules: MAX_REMINDERS } })
      .schedules
  }

  /** The requested reminder of the signed-in user. The user's schedules of other tasks count as not found. */
  const own = async (request: Request) => {
    const schedules = schedulesOf(request)
    const id = String(request.params['id'])
    const schedule = await schedules.get(id)
    if (schedule?.task !== remind.name) throw new NotFoundError('schedule', id)
    return { id, schedule, schedules }
  }

  app.post('/reminders', async (request, response) => {
    const schedules = schedulesOf(request)
    const input = newReminder.parse(request.body)
    const schedule = await schedules.create({
      task: remind,
      timer: checked(input),
      args: { text: input.text },
      // After downtime, send only the newest missed reminder.
      catchUp: 1,
    })
    response.status(201).location(`/reminders/${schedule.id}`).json(shown(schedule))
  })

  app.get('/reminders', async (request, response) => {
    const { items, total } = await schedulesOf(request).list({ task: remind.name, limit: MAX_REMINDERS })
    response.json({ items: items.map(shown), total })
  })

  app.get('/reminders/:id', async (request, response) => {
    const { id, schedule, schedules } = await own(request)
    const history = await schedules.history(id, { limit: 10 })
    response.json({
      ...shown(schedule),
      history: history.map(({ slot, state, finishedAt: finished }) => ({ slot, state, finished })),
    })
  })

  app.patch('/reminders/:id', async (request, response) => {
    const { id, schedules } = await own(request)
    const { text, timer, zone } = changes.parse(request.body)
    const changed = await schedules.update(id, {
      ...(text !== undefined && { args: { text } }),
      ...(timer !== undefined && { timer: checked({ timer, zone }) }),
    })
    response.json(shown(changed))
  })

  app.post('/reminders/:id/pause', async (request, response) => {
    const { id, schedules } = await own(request)
    response.json(shown(await schedules.pause(id)))
  })

  app.post('/reminders/:id/resume', async (request, response) => {
    const { id, schedules } = await own(request)
    response.json(shown(await schedules.resume(id)))
  })

  app.delete('/reminders/:id', async (request, response) => {
    const { id, schedules } = await own(request)
    await schedules.delete(id)
    response.status(204).end()
  })

  /** A preview for a form while the user types. */
  app.post('/timers/preview', (request, response) => {
    schedulesOf(request)
    const { timer, ...options } = preview.parse(request.body)
    const check = checkTimer(timer, options)
    if (!check.valid) throw new TimerRefused(check.error)
    response.json({
      timer: check.text,
      description: check.description,
      next: check.elapses.map(({ at, local }) => ({ at, local })),
      warnings: check.warnings,
    })
  })

  app.use(answer)
  return app
}

class NotSignedIn extends Error {}

/** The normalised timer, including the user's zone. @throws TimerRefused */
function checked({ timer, zone }: { readonly timer: string; readonly zone: string }): string {
  const check = checkTimer(timer, { zone, limit: 20 })
  if (!check.valid) throw new TimerRefused(check.error)
  if (check.elapses.length === 0)
    throw new TimerRefused({ message: 'The timer never elapses again', column: null, hint: null })
  return check.text
}

/** SQL edits may leave invalid args in the row, but the reminder must still be shown. */
const shownArgs = z.object({ text: z.string() }).catch({ text: '' })

function shown({ id, args, timer, status, nextRunAt }: Schedule) {
  const check = checkTimer(timer, { limit: 0 })
  return {
    id,
    ...shownArgs.parse(args),
    timer,
    description: check.valid ? check.description : check.error.message,
    status,
    // Null if no run is planned, for example while the schedule is paused.
    next: nextRunAt && { at: nextRunAt, local: localText(nextRunAt, check.valid ? check.zone : 'UTC') },
  }
}

const answer: ErrorRequestHandler = (error: unknown, _request, response: Response, next) => {
  if (response.headersSent) next(error)
  else if (error instanceof NotSignedIn) response.status(401).json({ message: 'Sign in first' })
  else if (error instanceof TimerRefused)
    response.status(422).json({
      field: 'timer',
      message: error.timerError.message,
      column: error.timerError.column,
      hint: error.timerError.hint,
    })
  else if (error instanceof z.ZodError)
    response.status(400).json({
      field: error.issues[0]?.path.join('.') ?? '',
      message: error.issues.map(({ message }) => message).join('; '),
    })
  else if (error instanceof InvalidInputError)
    response.status(400).json({ field: error.field, message: error.message })
  else if (error instanceof NotFoundError) response.status(404).json({ message: 'Reminder not found' })
  else if (error instanceof LimitError) response.status(429).json({ message: error.message })
  else if (error instanceof ConflictError) response.status(409).json({ message: error.message })
  // Invalid or oversized JSON: Express errors carry their own status.
  else next(error)
}
