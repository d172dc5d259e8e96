/** The limit: node:http, a prepared statement of better-sqlite3, JSON.stringify. */
import { createServer } from 'node:http'
import { corsList, listen } from '../contract.mjs'
import { openSqlite } from '../shop-sqlite.mjs'

const list = openSqlite().prepare(
  'select id, name, price, category_id as "categoryId" from item order by id limit ? + 0',
)
const head = ['Content-Type', 'application/json; charset=utf-8', ...corsList]

const server = createServer((request, response) => {
  const found = request.method === 'GET' && request.url === '/items'
  const body = found ? JSON.stringify(list.all(50)) : '{"error":"Not found"}'
  response.writeHead(found ? 200 : 404, [...head, 'Content-Length', Buffer.byteLength(body)])
  response.end(body)
})
listen(server)
