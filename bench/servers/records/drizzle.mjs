/** Drizzle with its prepared queries, on the database that DATABASE_URL names. */
import { asc, eq, sql } from 'drizzle-orm'
import { isPostgres } from '../shop-store.mjs'
import { answerCalls } from './answer-calls.mjs'
import { inBatches, keyOf, listLimit, manyRows } from './calls.mjs'

const prepare = (database, item) => {
  const find = database
    .select()
    .from(item)
    .where(eq(item.id, sql.placeholder('id')))
  const list = database.select().from(item).orderBy(asc(item.id)).limit(sql.placeholder('limit'))
  return { find: find.prepare('find'), list: list.prepare('list') }
}

async function onPostgres() {
  const { drizzle } = await import('drizzle-orm/node-postgres')
  const { doublePrecision, integer, pgTable, text } = await import('drizzle-orm/pg-core')
  const { openPostgres } = await import('../shop-postgres.mjs')
  const item = pgTable('item', {
    id: integer('id').primaryKey().generatedByDefaultAsIdentity(),
    name: text('name').notNull(),
    price: doublePrecision('price').notNull(),
    categoryId: integer('category_id').notNull(),
  })
  const { find, list } = prepare(drizzle({ client: openPostgres() }), item)
  return {
    find: async (n) => (await find.execute({ id: keyOf(n) }))[0],
    list: () => list.execute({ limit: listLimit }),
  }
}

async function onSqlite() {
  const { drizzle } = await import('drizzle-orm/better-sqlite3')
  const { integer, real, sqliteTable, text } = await import('drizzle-orm/sqlite-core')
  const { openSqlite } = await import('../shop-sqlite.mjs')
  const item = sqliteTable('item', {
    id: integer('id').primaryKey({ autoIncrement: true }),
    name: text('name').notNull(),
    price: real('price').notNull(),
    categoryId: integer('category_id').notNull(),
  })
  const database = drizzle({ client: openSqlite() })
  const { find, list } = prepare(database, item)
  return {
    find: (n) => find.get({ id: keyOf(n) }),
    list: () => list.all({ limit: listLimit }),
    insertMany: () =>
      database.transaction((transaction) => {
        for (const batch of inBatches(manyRows)) transaction.insert(item).values(batch).run()
      }),
  }
}

answerCalls(await (isPostgres ? onPostgres() : onSqlite()))
