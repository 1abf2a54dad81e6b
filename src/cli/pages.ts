/** Lists of the library, page by page. */
import type { ListPage } from '../index.ts'

/** The most rows of a page. */
const PAGE = 1000

/**
 * The first rows of a list.
 *
 * @param list  gives the page that begins at an offset
 * @param limit  the most rows
 */
export async function firstRows<Row>(
  list: (page: { readonly limit: number; readonly offset: number }) => Promise<ListPage<Row>>,
  limit: number,
): Promise<ListPage<Row>> {
  const items: Row[] = []
  for (;;) {
    const size = Math.max(1, Math.min(PAGE, limit - items.length))
    const { items: some, ...total } = await list({ limit: size, offset: items.length })
    items.push(...some)
    if (some.length < size || items.length >= limit) return { items: items.slice(0, limit), ...total }
  }
}

/** Such as `5 schedules listed of 10,000 or more.` */
export function listed({ items, total, totalIsExact }: ListPage<unknown>, counted: string): string {
  if (totalIsExact && total <= items.length) return `${counted} listed.`
  return `${counted} listed of ${total}${totalIsExact ? '' : ' or more'}.`
}
