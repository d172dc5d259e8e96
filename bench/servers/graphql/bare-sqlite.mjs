/** The operations as statements of SQLite that answer JSON. `cross join` keeps the order of the inner select. */
import { openSqlite } from '../shop-sqlite.mjs'

const database = openSqlite()
const prepare = (sql) => {
  const statement = database.prepare(sql).raw()
  return (...values) => statement.get(...values)[0]
}

const category = `json_object('id', cast(c.id as text), 'name', c.name)`
const itemFields = `'id', cast(i.id as text), 'name', i.name, 'price', i.price`
const reviews = `json((select json_group_array(json_object('id', cast(r.id as text), 'stars', r.stars, 'text', r.text))
  from (select id, stars, text from review where item_id = i.id order by id limit ? + 0) r))`
const items = `json((select json_group_array(json_object(${itemFields}, 'reviews', ${reviews}))
  from (select id, name, price from item where category_id = c.id order by id limit ? + 0) i))`

const updated = database
  .prepare(
    `update item set price = ? where id = ? returning '{"data":{"updateItem":' ||
     json_object('id', cast(id as text), 'name', name, 'price', price) || '}}'`,
  )
  .raw()

/** Its limits stand in the order of the text, the innermost first. */
const tree =
  prepare(`select '{"data":{"categories":' || json_group_array(json_object('id', cast(c.id as text), 'name', c.name, 'items', ${items})) || '}}'
    from (select id, name from category order by id limit ? + 0) c`)
export const statements = {
  list: prepare(`select '{"data":{"items":' || json_group_array(json_object(${itemFields}, 'category', ${category})) || '}}'
    from (select * from item order by id limit ? + 0) i cross join category c on c.id = i.category_id`),
  deep: (categoryLimit, itemLimit, reviewLimit) => tree(reviewLimit, itemLimit, categoryLimit),
  one: prepare(`select '{"data":{"item":' || coalesce((select json_object(${itemFields}, 'category', ${category})
    from item i join category c on c.id = i.category_id where i.id = ?), 'null') || '}}'`),
  update: (price, id) => updated.get(price, id)?.[0] ?? '{"data":{"updateItem":null}}',
}
