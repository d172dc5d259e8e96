/** The shop's statements written by hand: what each route needs, nothing else. */

export const item = 'id, name, price, category_id as "categoryId"'

export const find = `select ${item} from item where id = $1`
export const list = `select ${item} from item order by id limit $1`
export const listBehind = `select ${item} from item where id > $1 order by id limit $2`
/** The total as the routes of records tell it: exact up to ten thousand. */
export const count = 'select count(*)::int as total from (select 1 from item limit 10001) c'
export const countBehind =
  'select count(*)::int as total from (select 1 from item where id > $1 limit 10001) c'
/** By columns of which one has an index, in the order of the key. */
const by = 'category_id = $1 and price >= $2'
export const listBy = `select ${item} from item where ${by} order by id limit $3`
export const countBy = `select count(*)::int as total from (select 1 from item where ${by} limit 10001) c`
export const create = `insert into item (name, price, category_id) values ($1, $2, $3) returning ${item}`
/** A sale, written behind a look at its item. */
export const createSale = `insert into sale (pieces, item_id) values ($1, $2) returning id, pieces, item_id as "itemId"`
export const update = `update item set price = $1 where id = $2 returning ${item}`
/** Takes the rows in the order of their keys: two requests for the same ones would else stand in each other's way, and one would fail. */
export const updateMany = `with held as (select id from item where id = any($1::int[]) order by id for no key update)
  update item set price = c.price from unnest($1::int[], $2::float8[]) as c(id, price), held
  where item.id = held.id and c.id = held.id`

/** A page and its total as one row: the text of the whole answer. */
export const listJson = `select coalesce((select json_agg(i) from (${list}) i), '[]')::text as text,
  (select total from (${count}) t) as total`

const itemFields = `'id', i.id::text, 'name', i.name, 'price', i.price`
const category = `json_build_object('id', c.id::text, 'name', c.name)`
const itemWithCategory = `json_build_object(${itemFields}, 'category', ${category})`
const answer = (name, value) =>
  `select json_build_object('data', json_build_object('${name}', ${value}))::text as text`

/** What GraphQL answers, without GraphQL. */
export const one = answer(
  'item',
  `(select ${itemWithCategory} from item i join category c on c.id = i.category_id where i.id = $1)`,
)
export const nested = `${answer('items', `coalesce(json_agg(${itemWithCategory} order by i.id), '[]')`)}
  from (select * from item order by id limit $1) i join category c on c.id = i.category_id`
export const nestedBehind = `${answer('items', `coalesce(json_agg(${itemWithCategory} order by i.id), '[]')`)}
  from (select * from item where id > $1 order by id limit $2) i join category c on c.id = i.category_id`
export const mutation = `with i as (update item set price = $1 where id = $2 returning *)
  ${answer('updateItem', `(select json_build_object(${itemFields}) from i)`)}`

/** The pages behind a page, as the routes of records link them. */
export const nextPage = (limit, last, filter = '') =>
  `</items?limit=${limit}${filter}&after=${Buffer.from(JSON.stringify(['', last])).toString('base64url')}>; rel="next"`
