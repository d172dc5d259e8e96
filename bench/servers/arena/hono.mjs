/** Hono on node:http with postgres.js: HttpArena's routes. */
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import postgres from 'postgres'
import { announce, cors } from '../contract.mjs'
import { connections } from '../shop-postgres.mjs'
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

const database = postgres(process.env.DATABASE_URL, { max: connections })
const run = (name, values) => database.unsafe(sql[name], values, { prepare: true })
const cache = new ShortCache()

const app = new Hono()
app.use(async (context, next) => {
  for (const name of Object.keys(cors)) context.header(name, cors[name])
  await next()
})

app.get('/baseline11', (context) => {
  const { a, b } = context.req.query()
  return context.text(String(Number(a) + Number(b)))
})

app.get('/json/:count', (context) =>
  context.json(processed(Number(context.req.param('count')), Number(context.req.query('m')))),
)

app.get('/async-db', async (context) => {
  const { min, max, limit } = readRange(context.req.query())
  return context.json(toMany((await run('range', [min, max, limit])).map(toItem)))
})

app.get('/crud/items', async (context) => {
  const asked = readPage(context.req.query())
  const { category, limit, page } = asked
  const found = await run('list', [category, limit, (page - 1) * limit])
  return context.json(toPage(found.map(toItem), asked))
})

app.get('/crud/items/:id{[0-9]+}', async (context) => {
  const id = Number(context.req.param('id'))
  const cached = cache.get(id)
  if (cached !== undefined) return context.json(cached, 200, { 'X-Cache': 'HIT' })
  const [found] = await run('find', [id])
  if (found === undefined) return context.json({ error: 'Not found' }, 404)
  const shown = toItem(found)
  cache.set(id, shown)
  return context.json(shown, 200, { 'X-Cache': 'MISS' })
})

app.post('/crud/items', async (context) => {
  const { id, name, category, price, quantity } = await context.req.json()
  const [row] = await run('upsert', [id, name, category, price, quantity])
  return context.json(toItem(row), 201)
})

app.put('/crud/items/:id{[0-9]+}', async (context) => {
  const id = Number(context.req.param('id'))
  const { name, price, quantity } = await context.req.json()
  const [row] = await run('update', [name, price, quantity, id])
  if (row === undefined) return context.json({ error: 'Not found' }, 404)
  cache.forget(id)
  return context.json(toItem(row))
})

serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => {
  announce(`http://127.0.0.1:${port}`)
})
