/** Fastify with its schemas and pg by hand on the coordinator, every statement prepared and for one tenant. */
import Fastify from 'fastify'
import { randomBytes } from 'node:crypto'
import { announce, cors } from '../contract.mjs'
import { nextPage } from '../postgres/shop-statements.mjs'
import { openPostgres } from '../shop-postgres.mjs'

const pool = openPostgres()
const columns = 'id, tenant_id as "tenantId", name, price'
const run = async (name, text, values) => (await pool.query({ name, text, values })).rows

const app = Fastify()
app.addHook('onRequest', (request, reply, done) => {
  reply.headers(cors)
  done()
})

const properties = {
  tenantId: { type: 'string' },
  name: { type: 'string' },
  price: { type: 'integer' },
}
const id = { type: 'string', format: 'uuid' }
const item = { type: 'object', properties: { id, ...properties } }
const querystring = {
  type: 'object',
  required: ['tenantId'],
  properties: {
    tenantId: { type: 'string' },
    limit: { type: 'integer', minimum: 0, maximum: 1000, default: 10 },
  },
}

const one = { querystring, params: { type: 'object', properties: { id } }, response: { 200: item } }
app.get('/deliveries/:id', { schema: one }, async (request, reply) => {
  const [found] = await run(
    'find',
    `select ${columns} from bench_delivery where id = $1 and tenant_id = $2`,
    [request.params.id, request.query.tenantId],
  )
  return found ?? reply.code(404).send({ error: 'Not found' })
})

const page = { querystring, response: { 200: { type: 'array', items: item } } }
app.get('/deliveries', { schema: page }, async (request, reply) => {
  const { tenantId, limit } = request.query
  const [rows, [{ count }]] = await Promise.all([
    run('list', `select ${columns} from bench_delivery where tenant_id = $1 order by id limit $2`, [
      tenantId,
      limit + 1,
    ]),
    run('count', 'select count(*) from bench_delivery where tenant_id = $1', [tenantId]),
  ])
  reply.header('X-Total-Count', count)
  if (rows.length > limit)
    reply.header('Link', nextPage(limit, rows[limit - 1].id, `&tenantId=${tenantId}`))
  return rows.slice(0, limit)
})

/** A UUID of version 7. */
function newKey() {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(Date.now(), 0, 6)
  bytes[6] = (bytes[6] & 15) | 0x70
  bytes[8] = (bytes[8] & 63) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

const required = Object.keys(properties)
const body = { type: 'object', required, properties, additionalProperties: false }
app.post('/deliveries', { schema: { body, response: { 201: item } } }, async (request, reply) => {
  const { tenantId, name, price } = request.body
  const [row] = await run(
    'create',
    `insert into bench_delivery (id, tenant_id, name, price) values ($1, $2, $3, $4) returning ${columns}`,
    [newKey(), tenantId, name, price],
  )
  return reply.code(201).header('Location', `/deliveries/${row.id}`).send(row)
})

announce(await app.listen({ port: 0, host: '127.0.0.1' }))
