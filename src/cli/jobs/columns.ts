import type { JobState } from '../../index.ts'
import type { Style } from '../output.ts'

export const STATE_STYLES: Readonly<Partial<Record<JobState, Style>>> = {
  success: 'green',
  running: 'cyan',
  failed: 'red',
  cancelled: 'yellow',
  skipped: 'dim',
}
