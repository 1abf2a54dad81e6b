/**
 * Calendar events as systemd writes them (`OnCalendar=`, systemd.time(7)): parse, print, find elapses.
 *
 * @module
 */
export { CalendarEvent, calendar } from './calendar.ts'
export type { CalendarOptions, Fold } from './calendar.ts'
export { CalendarSyntaxError } from './error.ts'
