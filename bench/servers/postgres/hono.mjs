/** Hono on node:http with postgres.js, which prepares and pipelines by itself. */
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import postgres from 'postgres'
import { announce, cors } from '../contract.mjs'
import { connections } from '../shop-postgres.mjs'
import * as sql from './shop-statements.mjs'

const database = postgres(process.env.DATABASE_URL, { max: connections })
const run = (name, values) => database.unsafe(sql[name], values, { prepare: true })

const app = new Hono()
app.use(async (context, next) => {
  for (const name of Object.keys(cors)) context.header(name, cors[name])
  await next()
})

app.get('/items/:id{[0-9]+}', async (context) => {
  const [found] = await run('find', [Number(context.req.param('id'))])
  return found ? context.json(found) : context.json({ error: 'Not found' }, 404)
})

app.get('/items', async (context) => {
  const limit = Math.min(Number(context.req.query('limit') ?? 10), 1000)
  const behind = context.req.query('id.gt')
  const by = [context.req.query('categoryId'), context.req.query('price.gte')].map(Number)
  const [rows, [{ total }]] = await Promise.all(
    !isNaN(by[0])
      ? [run('listBy', [...by, limit + 1]), run('countBy', by)]
      : behind === undefined
        ? [run('list', [limit + 1]), run('count', [])]
        : [run('listBehind', [Number(behind), limit + 1]), run('countBehind', [Number(behind)])],
  )
  context.header('X-Total-Count', String(total))
  if (rows.length > limit) context.header('Link', sql.nextPage(limit, rows[limit - 1].id))
  return context.json(rows.slice(0, limit))
})

app.post('/items', async (context) => {
  const { name, price, categoryId } = await context.req.json()
  const [row] = await run('create', [name, price, categoryId])
  return context.json(row, 201, { Location: `/items/${row.id}` })
})

app.patch('/items/:id{[0-9]+}', async (context) => {
  const { price } = await context.req.json()
  const [row] = await run('update', [price, Number(context.req.param('id'))])
  return row ? context.json(row) : context.json({ error: 'Not found' }, 404)
})

app.post('/prices', async (context) => {
  const { prices } = await context.req.json()
  const ids = prices.map(({ id }) => id)
  await run('updateMany', [ids, prices.map(({ price }) => price)])
  return context.json({ changed: ids.length })
})

const json = { 'Content-Type': 'application/json; charset=utf-8' }
const fixed = (path, ask) =>
  app.post(path, async (context) => {
    const { variables = {} } = await context.req.json()
    const [{ text }] = await ask(variables)
    return context.body(text, 200, json)
  })
fixed('/one', ({ id }) => run('one', [Number(id)]))
fixed('/nested', () => run('nested', [50]))
fixed('/nested-own', ({ id }) => run('nestedBehind', [Number(id), 50]))
fixed('/mutation', ({ id, input }) => run('mutation', [input.price, Number(id)]))

serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => {
  announce(`http://127.0.0.1:${port}`)
})
