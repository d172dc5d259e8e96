/** The limit: node:http, and one prepared statement for each operation whose result is the answer's text. */
import { createServer } from 'node:http'
import { corsList, listen } from '../contract.mjs'
import { deepQuery, listQuery, oneQuery, updateMutation } from '../shop-queries.mjs'
import { isPostgres } from '../shop-store.mjs'

const { list, deep, one, update } = isPostgres
  ? (await import('./bare-postgres.mjs')).statements
  : (await import('./bare-sqlite.mjs')).statements

const operations = new Map([
  [listQuery, () => list(50)],
  [deepQuery, () => deep(10, 10, 5)],
  [oneQuery, ({ id }) => one(id)],
  [updateMutation, ({ id, input }) => update(input.price, id)],
])

const head = ['Content-Type', 'application/json; charset=utf-8', ...corsList]

const server = createServer((request, response) => {
  const chunks = []
  const send = (body) => {
    response.writeHead(200, [...head, 'Content-Length', Buffer.byteLength(body)])
    response.end(body)
  }
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const text = chunks.length === 1 ? chunks[0].toString() : Buffer.concat(chunks).toString()
    const { query, variables } = JSON.parse(text)
    const run = operations.get(query)
    const answer = run ? run(variables) : '{"data":null,"errors":[{"message":"unknown"}]}'
    if (answer instanceof Promise) answer.then(send)
    else send(answer)
  })
})
listen(server)
