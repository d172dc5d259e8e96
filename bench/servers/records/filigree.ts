/** Filigree's repository, on the database that DATABASE_URL names. */
import { connect } from '../../../dist/server/index.js'
import { answerCalls } from './answer-calls.mjs'
import { keyOf, listLimit, manyRows } from './calls.mjs'
import { Item } from '../shop-records.mjs'

const database = await connect(process.env.DATABASE_URL)
const items = database.records(Item)

answerCalls({
  find: (n: number) => items.find(keyOf(n)),
  list: () => items.list({ limit: listLimit }),
  insertMany: () => items.insertMany(manyRows),
})
