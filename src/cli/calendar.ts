/** `kalends calendar`: what `systemd-analyze calendar` prints, on machines that have no systemd. */
import { Command, InvalidArgumentError } from 'commander'
import { type CalendarEvent, CalendarSyntaxError, calendar } from '../calendar/index.ts'
import { baseTime } from './base-time.ts'
import { calendarReport, type ReportContext } from './calendar-report.ts'
import { CommandError } from './failure.ts'
import { harmlessJson } from './output.ts'

export interface CalendarCommandOptions {
  readonly now?: () => Date
  /** The zone that elapses are shown in; default: the one of this process. */
  readonly localZone?: string
}

interface Options {
  readonly iterations: number
  readonly baseTime?: string
  readonly zone: string
  readonly json?: boolean
}

const EXAMPLES = `
Examples:
  $ kalends calendar 'Mon..Fri 9:00 Europe/Berlin'
  $ kalends calendar --iterations 5 --base-time '2026-03-27 00:00 UTC' '*-*~1 18:00'

An event that names no zone is meant in UTC, as in a schedule; --zone local reads it as systemd would here.`

export function calendarCommand({
  now = () => new Date(),
  localZone = new Intl.DateTimeFormat().resolvedOptions().timeZone,
}: CalendarCommandOptions = {}): Command {
  const command = new Command('calendar')
    .description('Prints the normal form of calendar events, and when they elapse next.')
    .argument('<expression...>', "calendar events, each in quotes: 'Mon..Fri 9:00 Europe/Berlin'")
    .option('--iterations <n>', 'how many elapses to show of each', iterations, 1)
    .option('--base-time <time>', "elapses after this time, such as '2026-03-27 00:00 UTC' (default: now)")
    .option('--zone <zone>', "zone of events that name none: an IANA name or 'local'", 'UTC')
    .option('--json', 'one JSON object a line for each expression')
    .addHelpText('after', EXAMPLES)
  return command.action((expressions: readonly string[], options: Options) => {
    // As commander's own output, it goes where configureOutput says; by default to stdout.
    const output = command.configureOutput()
    const write = (text: string) => output.writeOut?.(text)
    const nowMicros = now().getTime() * 1000
    const zone = options.zone === 'local' ? localZone : options.zone
    checkZone(zone)
    const after =
      options.baseTime === undefined ? nowMicros : baseTime(options.baseTime, { nowMicros, zone: localZone })
    const context: ReportContext = { nowMicros, localZone, after, iterations: options.iterations }
    const problems: string[] = []
    for (const [index, expression] of expressions.entries()) {
      try {
        const event = calendar(expression, { zone })
        write(
          options.json === true
            ? jsonLine(expression, event, context)
            : calendarReport(expression, event, context),
        )
      } catch (error) {
        if (!(error instanceof CalendarSyntaxError)) throw error
        problems.push(errorText(error) + quotesHint(expressions))
      }
      if (options.json !== true && index < expressions.length - 1) write('\n')
    }
    if (problems.length > 0) throw new CommandError(problems.join('\n'))
  })
}

function iterations(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('A whole number from 0 to 999999 is needed.')
  return Number(text)
}

function checkZone(zone: string): void {
  try {
    calendar('daily', { zone })
  } catch (error) {
    throw new CommandError(
      `option '--zone': ${JSON.stringify(zone)} is not an IANA time zone, exact in case`,
      {
        cause: error,
      },
    )
  }
}

function jsonLine(expression: string, event: CalendarEvent, { after, iterations }: ReportContext): string {
  const elapses: Date[] = []
  for (
    let at = event.nextMicros(after);
    at !== null && elapses.length < iterations;
    at = event.nextMicros(at)
  ) {
    elapses.push(new Date(Math.ceil(at / 1000)))
  }
  const base = new Date(Math.floor(after / 1000))
  return `${harmlessJson(JSON.stringify({ expression, normalized: String(event), zone: event.zone, base, elapses }))}\n`
}

/** The message, and the text with a caret under what is wrong. */
function errorText(error: CalendarSyntaxError): string {
  const { text, column, token, message } = error
  // A caret helps only below text that takes one cell a character and one line.
  if (!/^[ -~]{1,120}$/.test(text)) return message
  return `${message}\n  ${text}\n  ${' '.repeat(column - 1)}${'^'.repeat(Math.max(1, token.length))}`
}

/** The shell has split one event into several. */
function quotesHint(expressions: readonly string[]): string {
  const whole = expressions.join(' ')
  if (expressions.length === 1) return ''
  try {
    calendar(whole)
    return `\n  put the event in quotes: kalends calendar '${whole}'`
  } catch {
    return ''
  }
}
