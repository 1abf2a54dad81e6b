/** The pages in the menu. */
import type { IconName } from './parts/Icon.tsx'

interface Place {
  readonly name: IconName
  readonly title: string
  readonly path: readonly string[]
  /** `g` followed by this letter opens the page. */
  readonly key: string
}

export const PLACES: readonly Place[] = [
  { name: 'overview', title: 'Overview', path: [], key: 'o' },
  { name: 'schedules', title: 'Schedules', path: ['schedules'], key: 's' },
  { name: 'calendar', title: 'Calendar', path: ['calendar'], key: 'c' },
  { name: 'jobs', title: 'Jobs', path: ['jobs'], key: 'j' },
  { name: 'workers', title: 'Workers', path: ['workers'], key: 'w' },
]
