/**
 * The web application: signed-in users make, change and pause their own reminders.
 *
 * Every route works through `kalends.scope({ submitter: user })`. Whatever id a user sends, what belongs to others is
 * not there: the scope is part of each statement, so no route can forget it.
 */
/* oxlint-disable oxc/no-async-endpoint-handlers -- Express 5 answers what a handler rejects with by itself */
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
  /** Who sent a request; null: nobody who is signed in. An application asks its sessions. */
  readonly userOf: (request: Request) => string | null
}

const MAX_REMINDERS = 100

const zone = z.string().default('UTC')
const text = z.string().trim().min(1).max(500)
const timer = z.string().trim().min(1).max(400)
const newReminder = z.object({ text, timer, zone })
const changes = z.object({ text: text.optional(), timer: timer.optional(), zone })
const preview = z.object({ timer, zone, limit: z.number().int().min(1).max(20).default(5) })

/** Told as 422 with the error, so that a form can point at the column. */
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

  /** The schedules of the user who sent the request: the only way to them in this file. */
  const schedulesOf = (request: Request) => {
    const user = userOf(request)
    if (user === null) throw new NotSignedIn()
    return kalends.scope({ submitter: user, tasks: [remind.name], limits: { schedules: MAX_REMINDERS } })
      .schedules
  }

  /** The id of a reminder of this user; other schedules of theirs are not this page's affair. */
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
      // A reminder that comes late is better than none, but one is enough.
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

  /** What a form shows while somebody types. */
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

/** The timer as it is stored, with the zone of the user in it. @throws TimerRefused */
function checked({ timer, zone }: { readonly timer: string; readonly zone: string }): string {
  const check = checkTimer(timer, { zone, limit: 20 })
  if (!check.valid) throw new TimerRefused(check.error)
  if (check.elapses.length === 0)
    throw new TimerRefused({ message: 'It never elapses again', column: null, hint: null })
  return check.text
}

/** Somebody may have written nonsense into the row, in SQL: the page still has to show it. */
const shownArgs = z.object({ text: z.string() }).catch({ text: '' })

function shown({ id, args, timer, status, nextRunAt }: Schedule) {
  const check = checkTimer(timer, { limit: 0 })
  return {
    id,
    ...shownArgs.parse(args),
    timer,
    description: check.valid ? check.description : check.error.message,
    status,
    // Null for a moment after a change: a worker plans it.
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
  else if (error instanceof NotFoundError) response.status(404).json({ message: 'There is no such reminder' })
  else if (error instanceof LimitError) response.status(429).json({ message: error.message })
  else if (error instanceof ConflictError) response.status(409).json({ message: error.message })
  // Not JSON, or too much of it: Express' own errors know their status.
  else next(error)
}
