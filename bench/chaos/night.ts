/** The nights when clocks change in Europe/Berlin, for runs with their own clock. */

/** In spring, 02:00 becomes 03:00; in autumn, 03:00 becomes 02:00. */
const NIGHTS = [new Date('2027-03-28T01:00:00Z'), new Date('2026-10-25T01:00:00Z')] as const

/** @returns the instant of the change; the seed selects spring or autumn */
export function clockChangeNight(seed: number): Date {
  return seed % 2 === 0 ? NIGHTS[0] : NIGHTS[1]
}
