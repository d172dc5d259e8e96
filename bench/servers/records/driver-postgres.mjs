/** The limit on PostgreSQL: pg with prepared statements. */
import { openPostgres } from '../shop-postgres.mjs'
import { answerCalls } from './answer-calls.mjs'
import { keyOf, listLimit } from './calls.mjs'

const pool = openPostgres()
const columns = 'id, name, price, category_id as "categoryId"'
const find = { name: 'find', text: `select ${columns} from item where id = $1` }
const list = { name: 'list', text: `select ${columns} from item order by id limit $1` }

answerCalls({
  find: async (n) => (await pool.query({ ...find, values: [keyOf(n)] })).rows[0],
  list: async () => (await pool.query({ ...list, values: [listLimit] })).rows,
})
