/** Fastify with its schemas: the parameter checked by Ajv, the answer written by fast-json-stringify. */
import Fastify from 'fastify'
import { announce, cors, itemOf } from '../contract.mjs'

const app = Fastify()
app.addHook('onRequest', (request, reply, done) => {
  reply.headers(cors)
  done()
})

const schema = {
  params: { type: 'object', required: ['id'], properties: { id: { type: 'integer' } } },
  response: {
    200: {
      type: 'object',
      properties: {
        id: { type: 'integer' },
        name: { type: 'string' },
        price: { type: 'number' },
        inStock: { type: 'boolean' },
      },
    },
  },
}
app.get('/items/:id', { schema }, (request, reply) => {
  reply.send(itemOf(request.params.id))
})

announce(await app.listen({ port: 0, host: '127.0.0.1' }))
