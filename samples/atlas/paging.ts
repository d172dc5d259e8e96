/** Paging, shared by all lists. */
import { Field } from 'filigree'

export class PageQuery {
  @Field('integer', { min: 1, max: 100, default: 20, description: 'Items on a page.' })
  limit!: number

  @Field('integer', { min: 0, default: 0, description: 'Items before the page.' })
  offset!: number
}

export interface Paged<T> {
  readonly items: readonly T[]
  /** The number of items on all pages together. */
  readonly total: number
  readonly limit: number
  readonly offset: number
}

/**
 * Reads a page, then counts all items, unless the page is not full, which already shows the total.
 *
 * @param list reads the page's items
 */
export async function toPage<T>(
  { limit, offset }: PageQuery,
  list: (page: { limit: number; offset: number }) => Promise<T[]>,
  count: () => Promise<number> | number,
): Promise<Paged<T>> {
  const items = await list({ limit, offset })
  const isLast = items.length < limit && (items.length > 0 || offset === 0)
  return { items, total: isLast ? offset + items.length : await count(), limit, offset }
}
