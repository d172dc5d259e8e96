/** The limit on SQLite: better-sqlite3 with prepared statements. */
import { openSqlite } from '../shop-sqlite.mjs'
import { answerCalls } from './answer-calls.mjs'
import { keyOf, listLimit, manyRows } from './calls.mjs'

const database = openSqlite()
const columns = 'id, name, price, category_id as "categoryId"'
const find = database.prepare(`select ${columns} from item where id = ?`)
const list = database.prepare(`select ${columns} from item order by id limit ? + 0`)
const insert = database.prepare('insert into item (name, price, category_id) values (?, ?, ?)')

answerCalls({
  find: (n) => find.get(keyOf(n)),
  list: () => list.all(listLimit),
  insertMany: database.transaction(() => {
    for (const { name, price, categoryId } of manyRows) insert.run(name, price, categoryId)
  }),
})
