/** Numbers of several runs, in one. */

/** @throws RangeError when there are none */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** @param part  0 the smallest, 1 the largest; between two values it is interpolated */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const place = (sorted.length - 1) * part
  const below = sorted[Math.floor(place)]
  const above = sorted[Math.ceil(place)]
  if (below === undefined || above === undefined) throw new RangeError('There is no quantile of no values')
  return below + (above - below) * (place - Math.floor(place))
}

/** How far the runs lie apart: (largest − smallest) / median, 0 when all are the same. */
export function spread(values: readonly number[]): number {
  const middle = median(values)
  return middle === 0 ? 0 : (Math.max(...values) - Math.min(...values)) / middle
}
