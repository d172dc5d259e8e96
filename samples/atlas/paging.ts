/** Paging, the same for every list. */
import { Field } from 'filigree'

export class PageQuery {
  @Field('integer', { min: 1, max: 100, default: 20, description: 'Items on a page.' })
  limit!: number

  @Field('integer', { min: 0, default: 0, description: 'Items before the page.' })
  offset!: number
}

/** Cuts a page out of a whole list. */
export function toPage<T>(
  all: readonly T[],
  { limit, offset }: PageQuery,
): { items: T[]; total: number; limit: number; offset: number } {
  return { items: all.slice(offset, offset + limit), total: all.length, limit, offset }
}
