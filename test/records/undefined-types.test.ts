/** The compiler rejects possibly undefined values and misspelt names in filters. */
import { describe, expect, it } from '@jest/globals'
import { connect, Field, HasMany, BelongsTo, Record, skip } from '../../src/index.js'
import type { ListOptions, Rel, Repository, Where } from '../../src/index.js'

@Record()
class Org {
  @Field('id') id!: number
  @Field() name!: string
  @HasMany(() => Ticket) tickets?: Ticket[]
}

@Record()
class Ticket {
  @Field('id') id!: number
  @Field() subject!: string
  @Field('integer') price!: number
  @Field('string', { nullable: true }) note!: string | null
  @Field('integer') orgId!: number
  @BelongsTo(() => Org) org!: Rel<Org>
}

interface TicketQuery {
  subject?: string
  price?: number
}

type Tickets = Repository<Ticket>

/** The compiler accepts all of these. The function is never called. */
export function accepted(tickets: Tickets, query: TicketQuery, where: Where<Ticket>): unknown[] {
  const options: ListOptions<Ticket> = { where }
  const field: string = query.subject ?? 'price'
  return [
    tickets.list(),
    tickets.list({}),
    tickets.list(options),
    tickets.list({ ...options, limit: 3 }),
    tickets.list({ where: query }),
    tickets.list({ where: { ...query, orgId: 1 }, orderBy: undefined, limit: undefined }),
    tickets.list({ where: { subject: query.subject ?? skip, note: null } }),
    tickets.list({ where: { or: [{ price: { in: [1, 2, null] as (number | null)[] } }] } }),
    tickets.list({ where: { org: { name: { like: 'A%' } } }, orderBy: [{ price: 'desc' }] }),
    tickets.list({ where: { org: { tickets: { price: { gte: 1 } } } } }),
    tickets.list({ orderBy: { [field]: 'desc' } }),
    tickets.list({ orderBy: { price: { direction: 'desc', nulls: 'first' } } }),
    tickets.count(),
    tickets.count({}),
    tickets.count(query),
    tickets.count({ orgId: 1 }, { withDeleted: true }),
    tickets.updateWhere({ orgId: 1 }, { subject: 'x' }),
    tickets.deleteWhere({ price: { lt: query.price ?? skip } }),
    tickets.update(1, { subject: 'x' }, { where: { orgId: 1 } }),
    tickets.aggregate(),
    tickets.aggregate({ where: query, groupBy: ['orgId'], having: { count: { gte: 2 } } }),
    tickets.aggregate({ sum: ['price'], orderBy: { sumPrice: 'desc' } }),
  ]
}

/** A service of any record. */
export function general<T extends object>(
  records: Repository<T>,
  where: Where<T>,
  options: ListOptions<T>,
): unknown[] {
  return [
    records.list(options),
    records.list({ where }),
    records.list({ where, limit: 3 }),
    records.count(where),
    records.deleteWhere(where),
  ]
}

/** The compiler rejects each of these. The function is never called. */
export function rejected(
  tickets: Tickets,
  claims: { org?: number; name: string | undefined; roles: (string | undefined)[] },
): unknown[] {
  return [
    // @ts-expect-error undefined or misspelt: the claim may be missing
    tickets.list({ where: { orgId: claims.org } }),
    // @ts-expect-error undefined or misspelt: inside an operator
    tickets.list({ where: { price: { gte: claims.org } } }),
    // @ts-expect-error undefined or misspelt: inside a list
    tickets.list({ where: { subject: { in: claims.roles } } }),
    // @ts-expect-error undefined or misspelt: through a relation
    tickets.list({ where: { org: { name: claims.name } } }),
    // @ts-expect-error undefined or misspelt: through two relations
    tickets.list({ where: { org: { tickets: { subject: claims.name } } } }),
    // @ts-expect-error undefined or misspelt: inside or
    tickets.list({ where: { or: [{ price: 1 }, { subject: claims.name }] } }),
    // @ts-expect-error undefined or misspelt: inside not
    tickets.list({ where: { not: { subject: claims.name } } }),
    // @ts-expect-error undefined or misspelt: the entire filter
    tickets.list({ where: undefined }),
    // @ts-expect-error undefined or misspelt: a search
    tickets.list({ search: claims.name }),
    // @ts-expect-error undefined or misspelt: an order
    tickets.list({ orderBy: { price: undefined } }),
    // @ts-expect-error undefined or misspelt: a part of an order
    tickets.list({ orderBy: [{ price: { direction: undefined } }] }),
    // @ts-expect-error undefined or misspelt: a misspelt field next to another
    tickets.list({ where: { orgid: 1, price: 1 } }),
    // @ts-expect-error undefined or misspelt: a misspelt operator next to another
    tickets.list({ where: { price: { gtee: 1, lte: 2 } } }),
    // @ts-expect-error undefined or misspelt: a misspelt option
    tickets.list({ wher: { price: 1 }, limit: 1 }),
    // @ts-expect-error undefined or misspelt: every row
    tickets.count(undefined),
    // @ts-expect-error undefined or misspelt: the claim may be missing
    tickets.count({ orgId: claims.org }),
    // @ts-expect-error undefined or misspelt: the claim may be missing
    tickets.updateWhere({ orgId: claims.org }, { subject: 'x' }),
    // @ts-expect-error undefined or misspelt: the claim may be missing
    tickets.deleteWhere({ orgId: claims.org }),
    // @ts-expect-error undefined or misspelt: the claim may be missing
    tickets.aggregate({ where: { orgId: claims.org } }),
    // @ts-expect-error undefined or misspelt: the claim may be missing
    tickets.aggregate({ having: { count: { gte: claims.org } } }),
    // @ts-expect-error undefined or misspelt: the claim may be missing
    tickets.update(1, { subject: 'x' }, { where: { orgId: claims.org } }),
  ]
}

describe('types of filters', () => {
  it('are checked at compile time, by the @ts-expect-error comments of this file', () => {
    expect([accepted, general, rejected].map(({ length }) => length)).toEqual([3, 3, 2])
    expect(typeof connect).toBe('function')
  })
})
