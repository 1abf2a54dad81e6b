import { type CalendarEvent, CalendarSyntaxError, calendar } from '../calendar/index.ts'
import { localZone, NO_LOCAL_ZONE } from '../calendar/zone-names.ts'
import { baseTime } from './base-time.ts'
import { calendarReport, elapsesOf, type ReportContext } from './calendar-report.ts'
import { type AnyCommand, Command, examples } from './commander.ts'
import { CommandError, EXIT } from './failure.ts'
import { print, printJson } from './output.ts'
import { wholeNumber } from './values.ts'

const HELP = `
An event without a zone is in UTC, as in a schedule; --zone local reads it as systemd does on this machine.`

export default function calendarCommand(): AnyCommand {
  return new Command('calendar')
    .description('Prints the normal form of calendar events, and their next elapses.')
    .argument('<expression...>', "calendar events, each in quotes: 'Mon..Fri 9:00 Europe/Berlin'")
    .option('--iterations <n>', 'how many elapses of each event to show', wholeNumber(0, 999_999), 1)
    .option('--base-time <time>', "elapses after this time, such as '2026-03-27 00:00 UTC' (default: now)")
    .option('--zone <zone>', "zone for events that name none: an IANA name or 'local'", 'UTC')
    .option('--json', 'print a JSON object for each expression, one per line')
    .addHelpText(
      ...examples(
        "calendar 'Mon..Fri 9:00 Europe/Berlin'",
        "calendar --iterations 5 --base-time '2026-03-27 00:00 UTC' '*-*~1 18:00'",
      ),
    )
    .addHelpText('after', HELP)
    .action((expressions, flags) => {
      const nowMicros = Date.now() * 1000
      const zone = checked(flags.zone)
      const afterMicros = flags.baseTime === undefined ? nowMicros : baseTime('--base-time', flags.baseTime)
      const context: ReportContext = { nowMicros, afterMicros, iterations: flags.iterations }
      const problems: string[] = []
      for (const [index, expression] of expressions.entries()) {
        try {
          const event = calendar(expression, { zone })
          if (flags.json === true) printJson(recordOf(expression, event, context))
          else print(calendarReport(expression, event, context))
        } catch (error) {
          if (!(error instanceof CalendarSyntaxError)) throw error
          problems.push(errorText(error) + quotesHint(expressions))
        }
        if (flags.json !== true && index < expressions.length - 1) print('\n')
      }
      if (problems.length > 0) throw new CommandError(problems.join('\n'))
    })
}

function checked(zone: string): string {
  if (zone === 'local' && localZone() === undefined)
    throw new CommandError(`option '--zone': ${NO_LOCAL_ZONE}`)
  try {
    calendar('daily', { zone })
    return zone
  } catch (cause) {
    const message = `option '--zone': ${JSON.stringify(zone)} is not an IANA time zone (names are case-sensitive)`
    throw new CommandError(message, EXIT.failed, { cause })
  }
}

function recordOf(expression: string, event: CalendarEvent, context: ReportContext): object {
  const elapses = elapsesOf(event, context).map((at) => new Date(Math.ceil(at / 1000)))
  const base = new Date(Math.floor(context.afterMicros / 1000))
  return { expression, normalized: String(event), zone: event.zone, base, elapses }
}

function errorText(error: CalendarSyntaxError): string {
  const { text, column, token, message } = error
  // A caret is only useful below a single line with one cell per character.
  if (!/^[ -~]{1,120}$/.test(text)) return message
  return `${message}\n  ${text}\n  ${' '.repeat(column - 1)}${'^'.repeat(Math.max(1, token.length))}`
}

/** A hint in case the shell has split one event into several arguments. */
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
