/** The pages in the menu. `g` followed by the key opens the page. */
const NAMES = ['overview', 'schedules', 'calendar', 'jobs', 'workers'] as const

export const PLACES = NAMES.map((name) => ({
  name,
  title: `${name.charAt(0).toUpperCase()}${name.slice(1)}`,
  path: name === 'overview' ? [] : [name],
  key: name.charAt(0),
}))
