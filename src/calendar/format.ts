import {
  type CalendarSpec,
  EVERY_WEEKDAY,
  type Item,
  type Items,
  NO_END,
  SECOND,
  SHORT_WEEKDAYS,
} from './spec.ts'

/** Byte for byte as `systemd-analyze calendar` prints it. */
export function format(spec: CalendarSpec, zone: string | null): string {
  const weekdays = spec.weekdays === EVERY_WEEKDAY ? '' : `${formatWeekdays(spec.weekdays)} `
  const date = `${list(spec.years, 4)}-${list(spec.months, 2)}${spec.daysFromEnd ? '~' : '-'}${list(spec.days, 2)}`
  const time = `${list(spec.hours, 2)}:${list(spec.minutes, 2)}:${formatSeconds(spec.seconds)}`
  return `${weekdays}${date} ${time}${zone === null ? '' : ` ${zone}`}`
}

function formatWeekdays(weekdays: number): string {
  const parts: string[] = []
  for (let day = 0; day < 7; day++) {
    if ((weekdays & (1 << day)) === 0) continue
    let last = day
    while (last < 6 && (weekdays & (1 << (last + 1))) !== 0) last++
    const names = SHORT_WEEKDAYS.slice(day, last + 1)
    parts.push(names.length > 2 ? `${names[0]}..${names.at(-1)}` : names.join(','))
    day = last
  }
  return parts.join(',')
}

function list(items: Items, digits: number): string {
  if (items === null) return '*'
  return items.map((item) => join(item, 1, (value) => String(value).padStart(digits, '0'), String)).join(',')
}

function formatSeconds(items: Items): string {
  // systemd prints the whole list as `*` if it contains every second, so the normal form then hides any fractions in
  // the list.
  if (items === null) return '*'
  if (items.some(({ start, end, step }) => start === 0 && end === NO_END && step === SECOND)) return '*'
  return items
    .map((item) =>
      join(
        item,
        SECOND,
        (value) => fraction(value, 2),
        (step) => fraction(step, 1),
      ),
    )
    .join(',')
}

function join(
  item: Item,
  unit: number,
  formatValue: (value: number) => string,
  formatStep: (step: number) => string,
): string {
  const start = formatValue(item.start)
  if (item.end !== NO_END) {
    const range = `${start}..${formatValue(item.end)}`
    return item.step === unit ? range : `${range}/${formatStep(item.step)}`
  }
  return item.step === 0 ? start : `${start}/${formatStep(item.step)}`
}

function fraction(micros: number, digits: number): string {
  const whole = String(Math.floor(micros / SECOND)).padStart(digits, '0')
  const rest = micros % SECOND
  return rest === 0 ? whole : `${whole}.${String(rest).padStart(6, '0')}`
}
