/** TypeORM, on the database that DATABASE_URL names. */
import 'reflect-metadata'
import { DataSource, EntitySchema } from 'typeorm'
import { connections } from '../shop-postgres.mjs'
import { isPostgres } from '../shop-store.mjs'
import { pragmas } from '../shop.mjs'
import { answerCalls } from './answer-calls.mjs'
import { inBatches, keyOf, listLimit, manyRows } from './calls.mjs'

const Item = new EntitySchema({
  name: 'Item',
  tableName: 'item',
  columns: {
    id: { type: 'integer', primary: true, generated: true },
    name: { type: 'text' },
    price: { type: isPostgres ? 'double precision' : 'real' },
    categoryId: { type: 'integer', name: 'category_id' },
  },
})

const url = process.env.DATABASE_URL
const connection = isPostgres
  ? { type: 'postgres', url, extra: { max: connections } }
  : {
      type: 'better-sqlite3',
      database: url.slice('sqlite:'.length),
      prepareDatabase: (database) => {
        for (const pragma of pragmas) database.pragma(pragma)
      },
    }
const source = await new DataSource({ ...connection, entities: [Item] }).initialize()
const items = source.getRepository(Item)

answerCalls({
  find: (n) => items.findOneBy({ id: keyOf(n) }),
  list: () => items.find({ order: { id: 'ASC' }, take: listLimit }),
  insertMany: () =>
    source.transaction(async (manager) => {
      for (const batch of inBatches(manyRows)) await manager.insert(Item, batch)
    }),
})
