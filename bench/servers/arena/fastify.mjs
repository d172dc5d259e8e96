/** Fastify and pg by hand: HttpArena's routes, every statement prepared. */
import Fastify from 'fastify'
import { announce, cors } from '../contract.mjs'
import { openPostgres } from '../shop-postgres.mjs'
import {
  processed,
  readPage,
  readRange,
  ShortCache,
  sql,
  toItem,
  toMany,
  toPage,
} from './arena.mjs'

const pool = openPostgres()
const run = async (name, values) => (await pool.query({ name, text: sql[name], values })).rows
const cache = new ShortCache()

const app = Fastify()
app.addHook('onRequest', (request, reply, done) => {
  reply.headers(cors)
  done()
})

const integer = { type: 'integer' }
const item = {
  type: 'object',
  properties: {
    id: integer,
    name: { type: 'string' },
    category: { type: 'string' },
    price: integer,
    quantity: integer,
    active: { type: 'boolean' },
    tags: { type: 'array', items: { type: 'string' } },
    rating: { type: 'object', properties: { score: integer, count: integer } },
    total: integer,
  },
}
const list = { type: 'array', items: item }
const many = { 200: { type: 'object', properties: { items: list, count: integer } } }
const page = {
  200: {
    type: 'object',
    properties: { items: list, total: integer, page: integer, limit: integer },
  },
}
const params = { type: 'object', properties: { id: integer, count: integer } }
const { id, name, category, price, quantity } = item.properties
const changed = {
  type: 'object',
  required: ['name', 'price', 'quantity'],
  properties: { name, price, quantity },
}
const created = {
  type: 'object',
  required: ['id', 'name', 'category', 'price', 'quantity'],
  properties: { id, name, category, price, quantity },
}

app.get('/baseline11', (request, reply) => {
  reply.type('text/plain').send(String(Number(request.query.a) + Number(request.query.b)))
})

app.get('/json/:count', { schema: { params, response: many } }, (request, reply) => {
  reply.send(processed(request.params.count, Number(request.query.m)))
})

app.get('/async-db', { schema: { response: many } }, async (request) => {
  const { min, max, limit } = readRange(request.query)
  return toMany((await run('range', [min, max, limit])).map(toItem))
})

app.get('/crud/items', { schema: { response: page } }, async (request) => {
  const asked = readPage(request.query)
  const { category, limit, page } = asked
  return toPage((await run('list', [category, limit, (page - 1) * limit])).map(toItem), asked)
})

app.get(
  '/crud/items/:id',
  { schema: { params, response: { 200: item } } },
  async (request, reply) => {
    const { id } = request.params
    const cached = cache.get(id)
    if (cached !== undefined) return reply.header('X-Cache', 'HIT').send(cached)
    const [found] = await run('find', [id])
    if (found === undefined) return reply.code(404).send({ error: 'Not found' })
    const shown = toItem(found)
    cache.set(id, shown)
    return reply.header('X-Cache', 'MISS').send(shown)
  },
)

app.post(
  '/crud/items',
  { schema: { body: created, response: { 201: item } } },
  async (request, reply) => {
    const { id, name, category, price, quantity } = request.body
    const [row] = await run('upsert', [id, name, category, price, quantity])
    return reply.code(201).send(toItem(row))
  },
)

app.put(
  '/crud/items/:id',
  { schema: { params, body: changed, response: { 200: item } } },
  async (request, reply) => {
    const { name, price, quantity } = request.body
    const [row] = await run('update', [name, price, quantity, request.params.id])
    if (row === undefined) return reply.code(404).send({ error: 'Not found' })
    cache.forget(request.params.id)
    return toItem(row)
  },
)

announce(await app.listen({ port: 0, host: '127.0.0.1' }))
