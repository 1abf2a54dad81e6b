/** Statistics of several runs. */

/** @throws RangeError if there are no values */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** @param part  0 for the smallest value, 1 for the largest; interpolates between values */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const place = (sorted.length - 1) * part
  const below = sorted[Math.floor(place)]
  const above = sorted[Math.ceil(place)]
  if (below === undefined || above === undefined) throw new RangeError('A quantile needs at least one value')
  return below + (above - below) * (place - Math.floor(place))
}

/** The spread of the runs: (largest − smallest) / median; 0 if the median is 0. */
export function spread(values: readonly number[]): number {
  const middle = median(values)
  return middle === 0 ? 0 : (Math.max(...values) - Math.min(...values)) / middle
}
