/** The operations as statements of PostgreSQL that answer JSON. */
import { openPostgres } from '../shop-postgres.mjs'

const pool = openPostgres()
const prepare =
  (name, text) =>
  async (...values) =>
    (await pool.query({ name, text, values, rowMode: 'array' })).rows[0][0]

const category = `json_build_object('id', c.id::text, 'name', c.name)`
const itemFields = `'id', i.id::text, 'name', i.name, 'price', i.price`
const list = (value, key) => `coalesce(json_agg(${value} order by ${key}), '[]')`
const reviews = `(select ${list(`json_build_object('id', r.id::text, 'stars', r.stars, 'text', r.text)`, 'r.id')}
  from (select id, stars, text from review where item_id = i.id order by id limit $3) r)`
const items = `(select ${list(`json_build_object(${itemFields}, 'reviews', ${reviews})`, 'i.id')}
  from (select id, name, price from item where category_id = c.id order by id limit $2) i)`
const answer = (name, value) =>
  `json_build_object('data', json_build_object('${name}', ${value}))::text`
const itemWithCategory = `json_build_object(${itemFields}, 'category', ${category})`

export const statements = {
  list: prepare(
    'list',
    `select ${answer('items', list(itemWithCategory, 'i.id'))}
     from (select * from item order by id limit $1) i join category c on c.id = i.category_id`,
  ),
  deep: prepare(
    'deep',
    `select ${answer('categories', list(`json_build_object('id', c.id::text, 'name', c.name, 'items', ${items})`, 'c.id'))}
     from (select id, name from category order by id limit $1) c`,
  ),
  one: prepare(
    'one',
    `select ${answer('item', `(select ${itemWithCategory} from item i join category c on c.id = i.category_id where i.id = $1)`)}`,
  ),
  update: prepare(
    'update',
    `with i as (update item set price = $1 where id = $2 returning *)
     select ${answer('updateItem', `(select json_build_object(${itemFields}) from i)`)}`,
  ),
}
