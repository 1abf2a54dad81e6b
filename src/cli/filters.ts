/** Flags for the filters of lists. */
import type { Conditions, Filter, Filters } from '../model/filters.ts'
import { type Command, Option, type OptionValues, withFlags } from './commander.ts'

/** The filters with a flag, by the name of their property. */
function flagged(filters: Filters) {
  return Object.entries(filters).flatMap(([name, filter]) =>
    filter.flag === undefined ? [] : [{ name, filter, ...filter.flag }],
  )
}

/** @param states  the states that may be given, if not all */
export function withFilters<Args extends unknown[], Flags extends OptionValues>(
  command: Command<Args, Flags>,
  filters: Filters,
  noun: string,
  states?: readonly string[],
): Command<Args, Flags> {
  return withFlags(command, (plain) => {
    for (const { filter, form, only } of flagged(filters))
      plain.addOption(optionOf(filter, form, `only ${noun}s ${only}`, states))
  })
}

function optionOf(filter: Filter, form: string, description: string, states?: readonly string[]): Option {
  const option = new Option(form, description)
  return filter.kind === 'word' ? option.choices(states ?? filter.values) : option
}

/** The conditions that the flags of a command set. */
export function conditionsOf<Of extends Filters>(filters: Of, flags: object): Conditions<Of> {
  const given = flagged(filters).map(({ name, form }) => [
    name,
    Reflect.get(flags, new Option(form).attributeName()),
  ])
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- commander checks choices; other flags are text
  return Object.fromEntries(given) as Conditions<Of>
}

/** Such as `--state, --task`. */
export const namesOfFlags = (filters: Filters): string =>
  flagged(filters)
    .map(({ form }) => form.slice(0, form.indexOf(' ')))
    .join(', ')
