/** Fastify with ROUTES routes, the parameter of each checked by Ajv. */
import Fastify from 'fastify'
import { announce, cors } from '../contract.mjs'
import { answerOf, prefixOf, routeCount } from '../many-routes.mjs'

const schema = {
  params: { type: 'object', required: ['id'], properties: { id: { type: 'integer' } } },
}

const start = performance.now()
const app = Fastify()
app.addHook('onRequest', (request, reply, done) => {
  reply.headers(cors)
  done()
})
for (let n = 0; n < routeCount; n++) {
  app.get(`${prefixOf(n)}/:id`, { schema }, (request, reply) => {
    reply.send(answerOf(n, request.params.id))
  })
}
const url = await app.listen({ port: 0, host: '127.0.0.1' })
announce(url, { bootstrapMilliseconds: performance.now() - start })
