/**
 * Parses and formats calendar events as systemd defines them (`OnCalendar=`, systemd.time(7)), and finds their elapses.
 *
 * @module
 */
export { CalendarEvent, calendar } from './calendar.ts'
export type { CalendarOptions, Fold } from './calendar.ts'
export { CalendarSyntaxError } from './error.ts'
