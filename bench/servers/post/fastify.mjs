/** Fastify with Ajv and its answer's schema, told to refuse what it would drop or convert by default, as the others do. */
import Fastify from 'fastify'
import { announce, cors } from '../contract.mjs'

const app = Fastify({ ajv: { customOptions: { removeAdditional: false, coerceTypes: false } } })
app.addHook('onRequest', (request, reply, done) => {
  reply.headers(cors)
  done()
})

const line = {
  type: 'object',
  additionalProperties: false,
  required: ['sku', 'quantity', 'price'],
  properties: {
    sku: { type: 'string', minLength: 1, maxLength: 40 },
    quantity: { type: 'integer', minimum: 1, maximum: 1000 },
    price: { type: 'number', minimum: 0 },
  },
}
const order = {
  type: 'object',
  additionalProperties: false,
  required: ['customer', 'reference', 'total', 'express', 'lines'],
  properties: {
    customer: { type: 'string', minLength: 1, maxLength: 80 },
    reference: { type: 'string', pattern: '^[A-Z]{2}-[0-9]{4,8}$' },
    total: { type: 'number', minimum: 0 },
    express: { type: 'boolean' },
    lines: { type: 'array', items: line },
  },
}
app.post('/orders', { schema: { body: order, response: { 200: order } } }, (request, reply) => {
  reply.send(request.body)
})

announce(await app.listen({ port: 0, host: '127.0.0.1' }))
