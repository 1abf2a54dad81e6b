/** Hidden from screen readers: an icon always has a word or a label beside it. */
const PATHS = {
  active: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM8 5v3.2l2 1.3',
  retrying: 'M3.5 8a4.5 4.5 0 1 0 1.5-3.3M5 2v3h3',
  frozen: 'M8 2v12M2.8 5l10.4 6M13.2 5 2.8 11',
  paused: 'M5.5 3.5v9M10.5 3.5v9',
  done: 'M2.5 13.5h11M3.5 8l3 3 6-7',
  dead: 'M5.3 2.5h5.4l2.8 2.8v5.4l-2.8 2.8H5.3l-2.8-2.8V5.3ZM5.8 5.8l4.4 4.4M10.2 5.8l-4.4 4.4',
  invalid: 'M8 2.5 14 13H2ZM8 6.5V9M8 11v.2',
  retired: 'M2.5 3.5h11v3h-11ZM3.5 6.5v6h9v-6M6.5 9h3',
  external: 'M8.5 2.5h5v5M13.5 2.5 7 9M6 3.5H2.5v10h10V10',
  running: 'M5 3.2v9.6l7.5-4.8Z',
  waiting: 'M4.5 2.5h7M4.5 13.5h7M5.5 2.5c0 3 5 4 5 5.5s-5 2.5-5 5.5M10.5 2.5c0 3-5 4-5 5.5s5 2.5 5 5.5',
  blocked: 'M3.5 7.5h9v6h-9ZM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5',
  success: 'M3 8.5l3.3 3.3L13 4.5',
  failed: 'M4 4l8 8M12 4l-8 8',
  cancelled: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM4.2 4.2l7.6 7.6',
  skipped: 'M3 4l4.5 4L3 12ZM8.5 4 13 8l-4.5 4Z',
  late: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM8 5v3.5M8 10.8v.2',
  overview: 'M2.5 2.5h4.5v6h-4.5ZM9.5 2.5h4v3h-4ZM9.5 8h4v5.5h-4ZM2.5 11h4.5v2.5h-4.5Z',
  schedules: 'M2.5 4h1M2.5 8h1M2.5 12h1M6 4h7.5M6 8h7.5M6 12h7.5',
  calendar: 'M2.5 3.5h11v10h-11ZM2.5 6.5h11M5.5 2v2.5M10.5 2v2.5',
  jobs: 'M2.5 5.5h11v8h-11ZM6 5.5v-3h4v3M2.5 9h11',
  workers: 'M2.5 2.5h11v4.5h-11ZM2.5 9h11v4.5h-11ZM5 4.8h.2M5 11.2h.2',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9ZM10.3 10.3l3.2 3.2',
  edit: 'M3 13l.7-3L11 2.7l2.3 2.3L6 12.3Z',
  trash: 'M3 4.5h10M6 4.5v-2h4v2M4.5 4.5l.5 9h6l.5-9',
  plus: 'M8 3v10M3 8h10',
  stop: 'M4 4h8v8H4Z',
  left: 'M10 3.5 5.5 8l4.5 4.5',
  right: 'M6 3.5 10.5 8 6 12.5',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}
