export { InvalidTimeSpanError } from './error.ts'
export { timeSpan } from './span.ts'
export { checkedZone, timer, type Timer, withZone } from './timer.ts'
