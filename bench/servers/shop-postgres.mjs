/** What the peers read of the shop in PostgreSQL: pg with every statement prepared under a name. */
import pg from 'pg'

/** As many connections as Filigree keeps. */
export const connections = 10

export const openPostgres = (url = process.env.DATABASE_URL) =>
  new pg.Pool({ connectionString: url, max: connections })

const item = 'id, name, price, category_id as "categoryId"'

/** Rows of all parents in one statement, the first `limit` of each. */
const children = (columns, table, key) =>
  `select p.position, c.* from unnest($1::int[], $2::int[]) with ordinality p(id, many, position)
   cross join lateral (select ${columns} from ${table} where ${key} = p.id order by id limit p.many) c`

function group(parents, rows) {
  const lists = parents.map(() => [])
  for (const row of rows) lists[Number(row.position) - 1].push(row)
  return lists
}

/** The statements behind the resolvers. */
export function openPostgresStore() {
  const pool = openPostgres()
  const run = async (name, text, values) => (await pool.query({ name, text, values })).rows
  const childrenOf = (name, text) => async (parents) => {
    const values = [parents.map(({ id }) => id), parents.map(({ limit }) => limit)]
    return group(parents, await run(name, text, values))
  }
  return {
    item: async (id) => (await run('item', `select ${item} from item where id = $1`, [id]))[0],
    items: (limit) => run('items', `select ${item} from item order by id limit $1`, [limit]),
    categories: (limit) =>
      run('categories', 'select id, name from category order by id limit $1', [limit]),
    categoriesOf: async (ids) => {
      const sql = 'select id, name from category where id = any($1::int[])'
      const byId = new Map((await run('categoriesOf', sql, [ids])).map((row) => [row.id, row]))
      return ids.map((id) => byId.get(id))
    },
    itemsOf: childrenOf('itemsOf', children(item, 'item', 'category_id')),
    reviewsOf: childrenOf('reviewsOf', children('id, stars, text', 'review', 'item_id')),
    updateItem: async (id, price) =>
      (
        await run('update', `update item set price = $1 where id = $2 returning ${item}`, [
          price,
          id,
        ])
      )[0],
  }
}
