/** Reads the query plans of the databases. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { CompiledQuery } from 'kysely'
import {
  Field,
  type Generated,
  type GraphQL,
  HasMany,
  Record,
  type Rel,
  type Database,
} from '../../../src/index.js'
import { startPostgres } from '../../records/postgres-server.js'
import { Category, openShop, Product, Review, shopGraphql, Tag } from '../records/shop.js'
import { logStatements, type Sent } from './driver-log.js'

@Record
class Shelf {
  @Field('id') id!: number
  @Field('string', { default: 'S' }) name!: Generated<string>
  @HasMany(() => Book) books!: Rel<Book[]>
}

@Record
class Book {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('integer') shelfId!: number
}

const server = await startPostgres()
afterAll(() => server.close())

/** `product: category_id` means that an index of that column is used, `product: all` a full scan. */
type Explain = (database: Database, sent: Sent) => Promise<string[]>

const engines: [string, () => Promise<string>, Explain][] = [
  ['SQLite', () => Promise.resolve('sqlite::memory:'), explainSqlite],
  ['PostgreSQL', () => server.createDatabase(), explainPostgres],
]

/** Each level is nested in the previous one: lists in lists, and the way back to single owners. */
const levels = ['categories(limit: $limit)', 'products', 'reviews', 'product', 'category']

function nested(depth: number): string {
  const inner = levels.slice(0, depth).reduceRight((below, level) => `${level} { id ${below} }`, '')
  return `query Q($limit: Int) { ${inner} }`
}

describe.each(engines)('the query plan on %s', (_name, open, explain) => {
  let database: Database
  let graphql: GraphQL

  beforeAll(async () => {
    database = await openShop(await open())
    graphql = shopGraphql(database)
    const names = (letter: string, count: number) =>
      Array.from({ length: count }, (_, index) => ({ name: `${letter}${index}` }))
    await database.records(Category).insertMany(names('C', 1000))
    await database.records(Tag).insertMany(names('T', 1000))
    await database.records(Product).insertMany(
      names('P', 4000).map(({ name }, index) => {
        return { name, price: index, categoryId: 1 + (index % 1000) }
      }),
    )
    await database.records(Review).insertMany(
      Array.from({ length: 8000 }, (_, index) => {
        return { stars: 1 + (index % 5), review_text: 'ok', productId: 1 + (index % 4000) }
      }),
    )
    const products = Array.from({ length: 1000 }, (_, index) => index + 1)
    await database.transaction(async (tx) => {
      for (const tag of [1, 2, 3]) await tx.records(Tag).link(tag, 'products', products)
      for (const tag of products) await tx.records(Tag).link(tag, 'products', [tag, tag + 1000])
    })
    await database.kysely.executeQuery(CompiledQuery.raw('analyze'))
  })
  afterAll(() => database.close())

  const run = async (text: string, variables: Record<string, unknown> = {}) => {
    const { result, sent } = await logStatements(async () => graphql.execute(text, variables))
    const { data, errors } = JSON.parse(JSON.stringify(result)) as {
      data: Record<string, unknown[]>
      errors?: unknown
    }
    expect(errors).toBeUndefined()
    return { data, sent }
  }

  it.each([1, 2, 3, 4, 5])(
    'is one statement for a query with %i levels, the same for 1 row, 10 and 1,000',
    async (depth) => {
      const statements = new Set<string>()
      for (const limit of [1, 10, 1000]) {
        const { data, sent } = await run(nested(depth), { limit })
        expect([data.categories?.length, sent.length]).toEqual([limit, 1])
        for (const { sql } of sent) statements.add(sql)
      }
      expect(statements.size).toBe(1)
    },
  )

  it.each([
    ['a single record', '{ product(id: 7) { name category { name } tags { name } } }'],
    ['a count', '{ productCount(where: { category: { name: { eq: "C7" } } }) }'],
    [
      'a page with its total',
      '{ productsPage(first: 50) { totalCount pageInfo { endCursor } edges { node { tags { name } } } } }',
    ],
  ])('is one statement for %s', async (_what, text) => {
    const { sent } = await run(text)
    expect(sent).toHaveLength(1)
  })

  it('is one statement for each root field that is planned', async () => {
    const { sent } = await run('{ categories { id } productCount tags { products { id } } }')
    expect(sent).toHaveLength(3)
  })

  it('uses the indexes of keys and foreign keys: only the first table is scanned', async () => {
    const text = `{ categories {
      name
      products { name tags { name products { name } } reviews { stars product { category { name } } } }
    } }`
    const { sent } = await run(text)
    expect(await explain(database, sent[0] as Sent)).toEqual([
      'category: all',
      'category: id',
      'product: category_id',
      'product: id',
      'product: id',
      'product_tag: product_id',
      'product_tag: tag_id',
      'review: product_id',
      'tag: id',
    ])
  })

  it('finds one record and its relations by keys alone', async () => {
    const { sent } = await run('{ product(id: 7) { category { name } reviews { stars } } }')
    expect(await explain(database, sent[0] as Sent)).toEqual([
      'category: id',
      'product: id',
      'review: product_id',
    ])
  })

  it('uses an index for lists whose records do not declare their owner', async () => {
    const shelves = await openShop(await open(), [Shelf, Book])
    await shelves.records(Shelf).insertMany(Array.from({ length: 1000 }, () => ({})))
    await shelves
      .records(Book)
      .insertMany(
        Array.from({ length: 4000 }, (_, index) => ({ title: 'B', shelfId: 1 + (index % 1000) })),
      )
    await shelves.kysely.executeQuery(CompiledQuery.raw('analyze'))
    const { sent } = await logStatements(async () =>
      shopGraphql(shelves, [Shelf]).execute('{ shelves { books { title } } }'),
    )
    const [only] = sent
    expect(await explain(shelves, only as Sent)).toEqual(['book: shelf_id', 'shelf: all'])
    await shelves.close()
  })
})

async function explainSqlite(database: Database, sent: Sent): Promise<string[]> {
  const steps = await runExplain<{ parent: number; detail: string }>(
    database,
    'explain query plan',
    sent,
  )
  return steps
    .flatMap(({ parent, detail }): string[] => {
      const [, verb, alias = '', columns] =
        /^(SCAN|SEARCH) (\w+)(?: .*\((\w+)=\?\)(?: LEFT-JOIN)?| .*)?$/.exec(detail) ?? []
      if (verb === undefined) return []
      // The rows of a sibling co-routine are scanned, which is not a table.
      const isGathered = steps.some(
        (other) => other.parent === parent && other.detail === `CO-ROUTINE ${alias}`,
      )
      if (isGathered) return []
      return [`${tableOf(sent, alias)}: ${columns?.replace('rowid', 'id') ?? 'all'}`]
    })
    .sort()
}

interface PostgresStep {
  readonly 'Relation Name'?: string
  readonly 'Index Cond'?: string
  readonly Plans?: readonly PostgresStep[]
}

async function explainPostgres(database: Database, sent: Sent): Promise<string[]> {
  const [row] = await runExplain<{ 'QUERY PLAN': string }>(database, 'explain (format json)', sent)
  const [{ Plan }] = JSON.parse(row?.['QUERY PLAN'] ?? '[]') as [{ Plan: PostgresStep }]
  const found: string[] = []
  const visit = (step: PostgresStep): void => {
    const { 'Relation Name': table, 'Index Cond': own, Plans = [] } = step
    if (table !== undefined) {
      // The step below creates the bitmap.
      const condition = own ?? Plans.find((below) => below['Index Cond'])?.['Index Cond']
      found.push(`${table}: ${/^\((?:\w+\.)?(\w+) = /.exec(condition ?? '')?.[1] ?? 'all'}`)
    }
    Plans.forEach(visit)
  }
  visit(Plan)
  return found.sort()
}

async function runExplain<T>(
  { kysely }: Database,
  verb: string,
  { sql, values }: Sent,
): Promise<T[]> {
  const query = CompiledQuery.raw(`${verb} ${sql}`, [...values])
  return (await kysely.executeQuery(query)).rows as T[]
}

function tableOf({ sql }: Sent, alias: string): string {
  return new RegExp(`"(\\w+)" as "${alias}"`).exec(sql)?.[1] ?? alias
}
