/** The compiler rejects names and comparisons that do not fit the fields and relations of a record. */
import { describe, expect, it } from '@jest/globals'
import { BelongsTo, connect, Field, HasMany, ManyToMany, Record } from '../../src/index.js'
import type {
  CallerRecords,
  ExactNumber,
  Generated,
  ListOptions,
  Rel,
  RelationPath,
  Repository,
} from '../../src/index.js'

@Record()
class Team {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Item) items?: Item[]
}

@Record()
class Tag {
  @Field('id') id!: number
  @Field('string') word!: string
}

@Record()
class Item {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('string', { nullable: true }) note!: string | null
  @Field('enum', { oneOf: ['open', 'closed'], default: 'open' }) status!: Generated<
    'open' | 'closed'
  >
  @Field('integer') n!: number
  @Field('integer', { optional: true }) stock?: number
  @Field('decimal') price!: ExactNumber
  @Field('bigint', { default: '0' }) views!: Generated<ExactNumber>
  @Field('boolean') done!: boolean
  @Field('blob', { optional: true }) photo?: Uint8Array
  @Field('string', { list: true }) words!: string[]
  @Field('json', { optional: true }) meta?: { size: number }
  @Field('json', { optional: true }) anything?: unknown
  @Field('integer') teamId!: number
  @BelongsTo(() => Team) team!: Rel<Team>
  @ManyToMany(() => Tag) tags!: Rel<Tag[]>
  @HasMany(() => Part) parts!: Rel<Part[]>
  isDone(): boolean {
    return this.done
  }
}

@Record()
class Part {
  @Field('id') id!: number
  @Field('integer', { nullable: true }) itemId!: number | null
  @BelongsTo(() => Item) item?: Rel<Item | null>
}

type Items = Repository<Item>

/** The compiler accepts all of these. The function is never called. */
export function accepted(items: Items, mine: CallerRecords<Item>): unknown[] {
  const paths: string[] = []
  const options: ListOptions<Item> = { with: ['team', 'parts.item'], counts: ['tags'] }
  return [
    items.list(options),
    items.list({ ...options, limit: 3 }),
    items.list({ with: ['team', 'tags', 'parts.item.team.items'] }),
    items.list({ with: paths as RelationPath<Item>[] }),
    items.list({ counts: ['tags', 'parts'], distinct: ['title', 'done', 'status'] }),
    items.find(1, { with: ['team.items'], lock: true }),
    mine.find(1, { with: ['team.items'] }),
    mine.all({}, { with: ['parts.item'] }),
    mine.list({ where: { n: { gte: 1 } }, orderBy: { team: { name: 'asc' } } }),
    items.list({ where: { title: { like: 'a%', gte: 'a' }, note: { contains: 'a' } } }),
    items.list({ where: { status: { in: ['open', 'closed'], ne: 'open' } } }),
    items.list({ where: { n: { between: [1, 2] }, price: { lt: '5.00' }, views: { gt: '1' } } }),
    items.list({ where: { done: { eq: true, in: [true, false] }, photo: { isNull: true } } }),
    items.list({ where: { meta: { path: ['size'], gte: 1 }, anything: { isNull: false } } }),
    items.list({ where: { anything: { path: ['a'], like: 'x%' }, words: { has: 'a' } } }),
    items.list({ where: { parts: { item: { title: { startsWith: 'a' } } } } }),
    items.list({ orderBy: [{ done: 'asc' }, { team: { name: 'desc' } }] }),
    items.aggregate({ sum: ['n', 'stock', 'price', 'views'], avg: ['price'] }),
    items.aggregate({ min: ['title', 'n', 'price'], max: ['status'], groupBy: ['done', 'teamId'] }),
    items.aggregate({ having: { count: { gte: 2 }, sumPrice: { lt: '5' }, avgN: 3 } }),
    items.aggregate({ groupBy: ['teamId'], having: { minTitle: { like: 'a%' }, maxN: 3 } }),
    items.aggregate({ sum: ['n'], groupBy: ['teamId'], orderBy: [{ sumN: 'desc' }] }),
    items.link(1, 'tags', [2]),
    Record<Item>({ rows: () => ({ n: { gte: 1 }, team: { name: { like: 'a%' } } }) }),
  ]
}

/** The compiler rejects each of these. The function is never called. */
export function rejected(items: Items, mine: CallerRecords<Item>, paths: string[]): unknown[] {
  // @ts-expect-error misspelt: a relation in a variable
  const options: ListOptions<Item> = { with: ['tems'] }
  return [
    options,
    // @ts-expect-error misspelt: a relation
    items.list({ with: ['tems'] }),
    // @ts-expect-error misspelt: the second relation of a path
    items.list({ with: ['parts.itm'] }),
    // @ts-expect-error misspelt: the third relation of a path
    items.list({ with: ['team', 'parts.item.tem'] }),
    // @ts-expect-error no relation: a field
    items.list({ with: ['title'] }),
    // @ts-expect-error no relation: a field behind a relation
    items.list({ with: ['team.name'] }),
    // @ts-expect-error no relation: a list of texts
    items.list({ with: ['words'] }),
    // @ts-expect-error unknown names: texts of a request
    items.list({ with: paths }),
    // @ts-expect-error misspelt: with a key
    items.find(1, { with: ['team.itms'] }),
    // @ts-expect-error misspelt: a caller's row
    mine.find(1, { with: ['tems'] }),
    // @ts-expect-error misspelt: a caller's pages
    mine.all({}, { with: ['parts.itm'] }),
    // @ts-expect-error other kind: a caller's list
    mine.list({ where: { n: { like: '1%' } } }),
    // @ts-expect-error one row: nothing to count
    items.list({ counts: ['team'] }),
    // @ts-expect-error no relation: nothing to count
    items.list({ counts: ['title'] }),
    // @ts-expect-error other kind: a pattern for a number
    items.list({ where: { n: { like: '1%' } } }),
    // @ts-expect-error other kind: a pattern for an exact number
    items.list({ where: { price: { contains: '1' } } }),
    // @ts-expect-error other kind: an order of booleans
    items.list({ where: { done: { gte: true } } }),
    // @ts-expect-error other kind: a pattern for bytes
    items.list({ where: { photo: { like: 'a%' } } }),
    // @ts-expect-error other kind: through a relation
    items.list({ where: { parts: { item: { stock: { startsWith: '1' } } } } }),
    // @ts-expect-error other kind: inside not
    items.count({ not: { n: { ilike: '1%' } } }),
    // @ts-expect-error other kind: where rows are deleted
    items.deleteWhere({ n: { endsWith: '1' } }),
    // @ts-expect-error not a column: a list
    items.list({ distinct: ['words'] }),
    // @ts-expect-error not a column: a relation
    items.list({ distinct: ['team'] }),
    // @ts-expect-error not a column: a method
    items.list({ distinct: ['isDone'] }),
    // @ts-expect-error not ordered: a relation
    items.list({ orderBy: { team: 'asc' } }),
    // @ts-expect-error not ordered: a list
    items.list({ orderBy: { words: 'asc' } }),
    // @ts-expect-error misspelt: behind a relation
    items.list({ orderBy: { team: { nam: 'asc' } } }),
    // @ts-expect-error no number: text
    items.aggregate({ sum: ['title'] }),
    // @ts-expect-error no number: a boolean
    items.aggregate({ avg: ['done'] }),
    // @ts-expect-error no number: a relation
    items.aggregate({ sum: ['team'] }),
    // @ts-expect-error not ordered: a boolean
    items.aggregate({ max: ['done'] }),
    // @ts-expect-error not a column: JSON
    items.aggregate({ groupBy: ['meta'] }),
    // @ts-expect-error misspelt: a group
    items.aggregate({ groupBy: ['teamid'] }),
    // @ts-expect-error no text: a group of time
    items.aggregate({ groupBy: [{ field: 'done', by: 'day' }] }),
    // @ts-expect-error no number: a condition on a sum
    items.aggregate({ having: { sumTitle: { gte: 1 } } }),
    // @ts-expect-error other kind: a pattern for a count
    items.aggregate({ having: { count: { like: '1' } } }),
    // @ts-expect-error other kind: a pattern for the largest number
    items.aggregate({ having: { maxN: { like: '1' } } }),
    // @ts-expect-error no result: an order by a sum of text
    items.aggregate({ orderBy: { sumTitle: 'asc' } }),
    // @ts-expect-error no result: an order by a relation
    items.aggregate({ orderBy: { team: 'asc' } }),
    // @ts-expect-error no links: a relation to one row
    items.link(1, 'team', [2]),
    // @ts-expect-error not a column: a relation
    items.upsert({ title: 'x' }, { by: 'team' }),
    // @ts-expect-error other kind: a rule for rows
    Record<Item>({ rows: () => ({ n: { like: '1%' } }) }),
  ]
}

describe('types of queries', () => {
  it('are checked at compile time, by the @ts-expect-error comments of this file', () => {
    expect([accepted, rejected].map(({ length }) => length)).toEqual([2, 3])
  })

  it('are wider than the check at run time, which refuses a text that names no relation', async () => {
    const database = await connect('sqlite::memory:', { records: [Team, Tag, Item, Part] })
    await database.sync()
    const texts: string[] = ['tems']
    const paths = texts as RelationPath<Item>[]
    await expect(database.records(Item).list({ with: paths })).rejects.toMatchObject({
      status: 400,
    })
    await database.close()
  })
})
