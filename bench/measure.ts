/** One piece of work, measured several times on one subject. */
export interface Measure {
  readonly work: string
  readonly subject: string
  readonly unit: string
  readonly values: readonly number[]
}
