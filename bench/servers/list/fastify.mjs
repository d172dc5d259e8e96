/** Fastify with a prepared statement of better-sqlite3, the answer written by fast-json-stringify. */
import Fastify from 'fastify'
import { announce, cors } from '../contract.mjs'
import { openSqlite } from '../shop-sqlite.mjs'

const list = openSqlite().prepare(
  'select id, name, price, category_id as "categoryId" from item order by id limit ? + 0',
)

const app = Fastify()
app.addHook('onRequest', (request, reply, done) => {
  reply.headers(cors)
  done()
})

const item = {
  type: 'object',
  properties: {
    id: { type: 'integer' },
    name: { type: 'string' },
    price: { type: 'number' },
    categoryId: { type: 'integer' },
  },
}
const schema = { response: { 200: { type: 'array', items: item } } }
app.get('/items', { schema }, (request, reply) => {
  reply.send(list.all(50))
})

announce(await app.listen({ port: 0, host: '127.0.0.1' }))
