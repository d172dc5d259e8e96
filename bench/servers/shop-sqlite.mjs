/** What the peers read of the shop in SQLite: better-sqlite3 with every statement prepared. */
import Database from 'better-sqlite3'
import { pragmas } from './shop.mjs'

/** Opens the file that `DATABASE_URL` names. */
export function openSqlite(url = process.env.DATABASE_URL) {
  const database = new Database(url.slice('sqlite:'.length))
  for (const pragma of pragmas) database.pragma(pragma)
  return database
}

const item = 'id, name, price, category_id as "categoryId"'

/** The statements of the resolvers. Each returns its rows synchronously. */
export function openSqliteStore() {
  const database = openSqlite()
  const prepare = (sql) => database.prepare(sql)
  const one = prepare(`select ${item} from item where id = ?`)
  const many = prepare(`select ${item} from item order by id limit ? + 0`)
  const categories = prepare('select id, name from category order by id limit ? + 0')
  const category = prepare('select id, name from category where id = ?')
  const itemsOf = prepare(`select ${item} from item where category_id = ? order by id limit ? + 0`)
  const reviewsOf = prepare(
    'select id, stars, text from review where item_id = ? order by id limit ? + 0',
  )
  const update = prepare(`update item set price = ? where id = ? returning ${item}`)
  return {
    item: (id) => one.get(id),
    items: (limit) => many.all(limit),
    categories: (limit) => categories.all(limit),
    categoriesOf: (ids) => ids.map((id) => category.get(id)),
    // No statement of SQLite answers the first rows of many parents as fast as one prepared statement for each.
    itemsOf: (parents) => parents.map(({ id, limit }) => itemsOf.all(id, limit)),
    reviewsOf: (parents) => parents.map(({ id, limit }) => reviewsOf.all(id, limit)),
    updateItem: (id, price) => update.get(price, id),
  }
}
