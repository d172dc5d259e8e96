/** Fastify with fast-jwt, RS256 only, verified tokens kept in its cache. */
import Fastify from 'fastify'
import { createVerifier } from 'fast-jwt'
import { announce, cors, itemOf } from '../contract.mjs'

const app = Fastify()
app.decorateRequest('user', null)
app.addHook('onRequest', (request, reply, done) => {
  reply.headers(cors)
  done()
})

const verify = createVerifier({
  key: process.env.APP_PUBLIC_KEY,
  algorithms: ['RS256'],
  requiredClaims: ['exp'],
  cache: true,
})
const gate = (request, reply, done) => {
  const { authorization } = request.headers
  try {
    if (!authorization?.startsWith('Bearer ')) throw new Error('no token')
    request.user = verify(authorization.slice(7))
    done()
  } catch {
    reply.code(401).send({ error: 'Unauthorized' })
  }
}
const answer = {
  type: 'object',
  properties: {
    id: { type: 'integer' },
    name: { type: 'string' },
    price: { type: 'number' },
    inStock: { type: 'boolean' },
    by: { type: 'string' },
  },
}
const schema = {
  params: { type: 'object', required: ['id'], properties: { id: { type: 'integer' } } },
  response: { 200: answer },
}
app.get('/private/:id', { schema, onRequest: gate }, (request, reply) => {
  reply.send({ ...itemOf(request.params.id), by: request.user.sub })
})

announce(await app.listen({ port: 0, host: '127.0.0.1' }))
