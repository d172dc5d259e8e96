/** Paging, the same for every list. */
import { Field } from 'filigree'

export class PageQuery {
  @Field('integer', { min: 1, max: 100, default: 20, description: 'Items on a page.' })
  limit!: number

  @Field('integer', { min: 0, default: 0, description: 'Items before the page.' })
  offset!: number
}

export interface Paged<T> {
  readonly items: readonly T[]
  /** How many there are on all pages together. */
  readonly total: number
  readonly limit: number
  readonly offset: number
}

/** @param list reads the page's items; not asked where it can have none */
export async function toPage<T>(
  { limit, offset }: PageQuery,
  total: number,
  list: (page: { limit: number; offset: number }) => Promise<T[]>,
): Promise<Paged<T>> {
  const items = offset < total ? await list({ limit, offset }) : []
  return { items, total, limit, offset }
}
