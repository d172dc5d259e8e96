/** Fastify with its schemas and pg by hand, every statement prepared; GraphQL's questions as fixed routes. */
import Fastify from 'fastify'
import { announce, cors } from '../contract.mjs'
import { openPostgres } from '../shop-postgres.mjs'
import * as sql from './shop-statements.mjs'

const pool = openPostgres()
const prepare = (name) => async (values) =>
  (await pool.query({ name, text: sql[name], values })).rows
const [find, list, count, create, update, updateMany] = [
  'find',
  'list',
  'count',
  'create',
  'update',
  'updateMany',
].map(prepare)
const [listBehind, countBehind, listBy, countBy] = [
  'listBehind',
  'countBehind',
  'listBy',
  'countBy',
].map(prepare)
const [listJson, one, nested, nestedBehind, mutation] = [
  'listJson',
  'one',
  'nested',
  'nestedBehind',
  'mutation',
].map(prepare)

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
const params = { type: 'object', properties: { id: { type: 'integer' } } }
const querystring = {
  type: 'object',
  properties: {
    limit: { type: 'integer', minimum: 0, maximum: 1000, default: 10 },
    'id.gt': { type: 'integer' },
    categoryId: { type: 'integer' },
    'price.gte': { type: 'number' },
  },
}
const body = { type: 'object', properties: item.properties, additionalProperties: false }
const prices = {
  type: 'object',
  required: ['prices'],
  properties: {
    prices: {
      type: 'array',
      maxItems: 100,
      items: {
        type: 'object',
        required: ['id', 'price'],
        properties: { id: { type: 'integer' }, price: { type: 'number', minimum: 0 } },
      },
    },
  },
}
const notFound = (reply) => reply.code(404).send({ error: 'Not found' })

app.get('/items/:id', { schema: { params, response: { 200: item } } }, async (request, reply) => {
  const [found] = await find([request.params.id])
  return found ?? notFound(reply)
})

const page = { querystring, response: { 200: { type: 'array', items: item } } }
app.get('/items', { schema: page }, async (request, reply) => {
  const { limit, 'id.gt': behind, categoryId, 'price.gte': price } = request.query
  const [rows, [{ total }]] = await Promise.all(
    categoryId !== undefined
      ? [listBy([categoryId, price, limit + 1]), countBy([categoryId, price])]
      : behind === undefined
        ? [list([limit + 1]), count([])]
        : [listBehind([behind, limit + 1]), countBehind([behind])],
  )
  reply.header('X-Total-Count', total)
  if (rows.length > limit) reply.header('Link', sql.nextPage(limit, rows[limit - 1].id))
  return rows.slice(0, limit)
})

app.get('/items-json', { schema: { querystring } }, async (request, reply) => {
  const [{ text, total }] = await listJson([request.query.limit])
  reply.header('X-Total-Count', total).type('application/json; charset=utf-8')
  return text
})

const created = {
  body: { ...body, required: ['name', 'price', 'categoryId'] },
  response: { 201: item },
}
app.post('/items', { schema: created }, async (request, reply) => {
  const { name, price, categoryId } = request.body
  const [row] = await create([name, price, categoryId])
  return reply.code(201).header('Location', `/items/${row.id}`).send(row)
})

/** What a rule over two tables needs: both statements in a serializable transaction, and again after a conflict. */
async function sell(pieces, itemId) {
  const client = await pool.connect()
  try {
    for (;;) {
      try {
        await client.query('begin isolation level serializable')
        const { rows } = await client.query({ name: 'find', text: sql.find, values: [itemId] })
        const isAllowed = rows.length > 0 && rows[0].price * pieces <= 1_000_000
        const written = isAllowed
          ? await client.query({ name: 'sell', text: sql.createSale, values: [pieces, itemId] })
          : undefined
        await client.query('commit')
        return written?.rows[0]
      } catch (error) {
        await client.query('rollback')
        if (error.code !== '40001') throw error
      }
    }
  } finally {
    client.release()
  }
}

const sale = {
  type: 'object',
  properties: {
    id: { type: 'integer' },
    pieces: { type: 'integer', minimum: 1 },
    itemId: { type: 'integer' },
  },
}
const sold = {
  body: { ...sale, required: ['pieces', 'itemId'], additionalProperties: false },
  response: { 201: sale },
}
app.post('/sales', { schema: sold }, async (request, reply) => {
  const { pieces, itemId } = request.body
  const row = await sell(pieces, itemId)
  if (row === undefined) return reply.code(409).send({ error: 'This sale needs a permission.' })
  return reply.code(201).header('Location', `/sales/${row.id}`).send(row)
})

const changed = { params, body: { ...body, required: ['price'] }, response: { 200: item } }
app.patch('/items/:id', { schema: changed }, async (request, reply) => {
  const [row] = await update([request.body.price, request.params.id])
  return row ?? notFound(reply)
})

app.post('/prices', { schema: { body: prices } }, async (request) => {
  const ids = request.body.prices.map(({ id }) => id)
  await updateMany([ids, request.body.prices.map(({ price }) => price)])
  return { changed: ids.length }
})

app.post('/prices-loop', { schema: { body: prices } }, async (request) => {
  const client = await pool.connect()
  try {
    await client.query('begin')
    for (const { id, price } of request.body.prices)
      await client.query({ name: 'update', text: sql.update, values: [price, id] })
    await client.query('commit')
  } catch (error) {
    // Else whoever gets the connection next fails too.
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
  return { changed: request.body.prices.length }
})

const fixed = (path, run) =>
  app.post(path, async (request, reply) => {
    const [{ text }] = await run(request.body.variables ?? {})
    reply.type('application/json; charset=utf-8')
    return text
  })
fixed('/one', ({ id }) => one([Number(id)]))
fixed('/nested', () => nested([50]))
fixed('/nested-own', ({ id }) => nestedBehind([Number(id), 50]))
fixed('/mutation', ({ id, input }) => mutation([input.price, Number(id)]))

announce(await app.listen({ port: 0, host: '127.0.0.1' }))
