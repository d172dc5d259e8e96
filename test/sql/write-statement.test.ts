/** Statements from query trees: their SQL and their properties. The suites of records and GraphQL run the statements. */
import { afterAll, describe, expect, it } from '@jest/globals'
import { boundOf } from '../../src/engines/contract/statement.js'
import type { JsonField } from '../../src/engines/contract/json-sql.js'
import type { Dialect } from '../../src/engines/contract/dialect.js'
import { createPostgresDialect } from '../../src/engines/postgres/dialect.js'
import { sqliteDialect } from '../../src/engines/sqlite/dialect.js'
import {
  BelongsTo,
  Field,
  HasMany,
  Record as RecordOf,
  type Rel,
  connect,
} from '../../src/index.js'
import type { Table } from '../../src/records/model/table.js'
import { type SqlRelation } from '../../src/sql/table.js'
import { equals, keyIs } from '../../src/sql/condition.js'
import { byKey } from '../../src/sql/order.js'
import type { Change, Query } from '../../src/sql/tree.js'
import { arrangeValues, writeStatement } from '../../src/sql/write-statement.js'
import { internalsOf } from '../records/open-database.js'

@RecordOf
class Category {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Product) products!: Rel<Product[]>
}

@RecordOf({ softDelete: true, version: true })
class Product {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('numeric') price!: number
  @Field('integer') categoryId!: number
  @BelongsTo(() => Category) category!: Rel<Category>
}

const database = await connect('sqlite::memory:', { records: [Category, Product] })
afterAll(() => database.close())
const product: Table = internalsOf(database).table(Product)
const category: Table = internalsOf(database).table(Category)
const link = product.relations.get('category') as SqlRelation
const postgres = createPostgresDialect(true)
const engines: [string, Dialect][] = [
  ['SQLite', sqliteDialect],
  ['PostgreSQL', postgres],
]

function column(table: Table, property: string) {
  const found = table.byProperty.get(property)
  if (found === undefined) throw new Error(property)
  return found
}

function field(table: Table, property: string): JsonField {
  const common = { itemForm: undefined, enumeration: undefined, idPrefix: undefined }
  return { column: column(table, property), form: 'text', ...common }
}

const example: Query = {
  query: 'objects',
  rows: {
    table: product,
    where: { kind: 'compare', column: column(product, 'price'), operator: 'gt', slot: 0 },
    order: byKey(product),
    limit: 1,
  },
  selection: [
    { kind: 'column', key: 'name', field: field(product, 'name') },
    {
      kind: 'relation',
      key: 'category',
      relation: link,
      rows: {},
      selection: [{ kind: 'column', key: 'name', field: field(category, 'name') }],
    },
  ],
}

function textOf(tree: Query | Change, dialect: Dialect): string {
  return writeStatement(tree, dialect).statement.sql
}

describe('a query tree', () => {
  it('is written for SQLite', () => {
    expect(textOf(example, sqliteDialect)).toBe(
      `select json_group_array(json_object('name', "t0"."name", 'category', case when "t1"."id" is not null then json_object('name', "t1"."name") end)) from (select "t0"."name", "t0"."category_id" from "product" as "t0" where "t0"."price" > ? and "t0"."deleted_at" is null order by "t0"."id" asc limit ? + 0) as "t0" left join "category" as "t1" on "t1"."id" = "t0"."category_id"`,
    )
  })

  it('is written for PostgreSQL', () => {
    expect(textOf(example, postgres)).toBe(
      `select '[{"name":', string_agg((coalesce(cast(to_json("t0"."name") as text), 'null') || ',"category":' || coalesce("t1o"."filigree_owner", 'null')), '},{"name":'), '}]' from (select "t0"."name", "t0"."category_id" from "product" as "t0" where "t0"."price" > $1 and "t0"."deleted_at" is null order by "t0"."id" asc limit $2) as "t0" left join lateral (select ('{"name":' || coalesce(cast(to_json("t1"."name") as text), 'null') || '}') as filigree_owner from "category" as "t1" where "t1"."id" = "t0"."category_id" limit 1) as "t1o" on true`,
    )
  })

  it('increments versions and keeps soft-deleted rows', () => {
    const where = keyIs(product, 1)
    const columns = [column(product, 'name')]
    expect(
      textOf(
        { change: 'update', table: product, where, columns, firstSlot: 0, returns: 'nothing' },
        sqliteDialect,
      ),
    ).toBe(
      'update "product" set "name" = ?, "version" = "product"."version" + 1 where "product"."id" = ? and "product"."deleted_at" is null',
    )
    expect(
      textOf({ change: 'delete', table: product, where, at: 0, returns: [] }, sqliteDialect),
    ).toBe(
      'update "product" set "deleted_at" = ? where "product"."id" = ? and "product"."deleted_at" is null',
    )
    expect(
      textOf(
        { change: 'delete', table: category, where: keyIs(category, 0), at: 0, returns: [] },
        sqliteDialect,
      ),
    ).toBe('delete from "category" where "category"."id" = ?')
  })

  it('locks a row first where it returns its old values', () => {
    const columns = [column(product, 'name')]
    const change = {
      change: 'update',
      table: category,
      columns,
      firstSlot: 0,
      returns: 'row',
    } as const
    expect(
      textOf({ ...change, where: keyIs(category, 1), previousColumns: columns }, postgres),
    ).toBe(
      `update "category" set "name" = $1 from (select "category"."id" as filigree_key, "category"."name" as "filigree_p0" from "category" where "category"."id" = $2 for no key update) as "filigree_held" where "category"."id" = "filigree_held"."filigree_key" returning "category"."id", "category"."name", "filigree_held"."filigree_p0"`,
    )
  })

  it('places values in their slots', () => {
    const where = equals(column(product, 'name'), 1)
    const plan = writeStatement(
      { query: 'rows', rows: { table: product, where, limit: 0 } },
      postgres,
    )
    expect(arrangeValues(plan, [20, 'Oak'])).toEqual(['Oak', 20])
  })
})

describe('a statement that can be batched', () => {
  const valueAt = (position: number) => `call.p${position}`

  it('prints a read with other values', () => {
    const tree: Query = { query: 'rows', rows: { table: category, where: keyIs(category, 0) } }
    expect(writeStatement(tree, postgres).statement.print?.(valueAt)).toBe(
      'select "t0"."id", "t0"."name" from "category" as "t0" where "t0"."id" = call.p1',
    )
    expect(writeStatement(tree, sqliteDialect).statement.print).toBeUndefined()
  })

  it('prints a change of one row in parts, whose values have the positions of the statement', () => {
    const columns = [column(category, 'name')]
    const where = keyIs(category, 0)
    const change = { change: 'update', table: category, where, columns, firstSlot: 1 } as const
    const { statement } = writeStatement({ ...change, returns: 'row' }, postgres)
    const { print, returning, key } = statement.oneRow ?? {}
    const { head, condition } = print?.((position) => `$${position}`) ?? {}
    expect(`${head} where ${condition}${returning}`).toBe(statement.sql)
    expect(print?.(valueAt)).toStrictEqual({
      head: 'update "category" set "name" = call.p1',
      condition: '"category"."id" = call.p2',
    })
    expect(key).toEqual([{ column: '"id"', position: 2 }])
  })

  it('has the parts of an insert of one row', () => {
    const columns = [column(category, 'name')]
    const change = { change: 'insert', table: category, columns, rowCountOrTypes: 1 } as const
    const { statement } = writeStatement({ ...change, returns: 'row' }, postgres)
    const { head, returning } = statement.newRow ?? {}
    expect(`${head} values ($1)${returning}`).toBe(statement.sql)
  })
})

describe.each(engines)('%s: properties of a statement', (_name, dialect) => {
  const facts = (tree: Query | Change, values: readonly unknown[] = []) => {
    const { statement } = writeStatement(tree, dialect)
    const { kind, tables, mayWait, together } = statement
    return { kind, tables, mayWait, together, bound: boundOf(statement, values) }
  }
  const reads = { kind: 'select', mayWait: false } as const

  it('returns the tables, first the table of the rows', () => {
    expect(facts(example)).toMatchObject({ ...reads, tables: ['product', 'category'] })
  })

  it('estimates how many rows it reads, and which statements it can be batched with', () => {
    const find: Query = { query: 'rows', rows: { table: product, where: keyIs(product, 0) } }
    expect(facts(find)).toMatchObject({ ...reads, together: 'calls', bound: 1 })
    const page: Query = {
      query: 'rows',
      rows: { table: category, order: byKey(category), limit: 0 },
    }
    expect(facts(page, [20])).toMatchObject({ ...reads, together: 'page', bound: 20 })
    const list: Query = { query: 'rows', rows: { table: product, limit: 0 } }
    expect(facts(list, [20])).toMatchObject({ ...reads, together: 'same', bound: Infinity })
    const count: Query = { query: 'count', rows: { table: product } }
    expect(facts(count)).toMatchObject({ ...reads, together: 'same', bound: Infinity })
  })

  it('reads the rows that rows belong to by key, and no other table', () => {
    const where = equals(column(category, 'name'), 0)
    const query: Query = {
      query: 'relatedRows',
      relation: link,
      keys: [1],
      isPacked: true,
      rows: { where },
    }
    const { statement } = writeStatement(query, dialect)
    expect(statement).toMatchObject({ together: 'calls', tables: ['category'] })
    expect(statement.only).toMatchObject({ table: 'category', columns: [{ name: 'name' }] })
    expect(
      boundOf(statement, [
        [1, 2, 3],
        [1, 2, 3],
      ]),
    ).toBe(3)
  })

  it('returns what changes and may be deferred', () => {
    const where = keyIs(product, 1)
    const deleted = facts({ change: 'delete', table: product, where, at: 0, returns: [] })
    expect(deleted).toMatchObject({ kind: 'delete', mayWait: true, bound: 1 })
    const columns = [column(category, 'name')]
    const inserted = facts({
      change: 'insert',
      table: category,
      columns,
      rowCountOrTypes: 1,
      returns: 'row',
    })
    expect(inserted).toMatchObject({ kind: 'insert', mayWait: false })
    const locking: Query = { query: 'rows', rows: { table: product, where }, locks: true }
    expect(facts(locking).mayWait).toBe(dialect.statements.lock !== '')
  })
})
