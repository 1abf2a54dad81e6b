export { InvalidTimeSpanError } from './error.ts'
export { timeSpan } from './span.ts'
export { timer, type Timer, withZone } from './timer.ts'
