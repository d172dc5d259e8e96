/** Fastify that says hello. */
import Fastify from 'fastify'
import { announce, cors } from '../contract.mjs'

const app = Fastify()
app.addHook('onRequest', (request, reply, done) => {
  reply.headers(cors)
  done()
})
app.get('/', () => ({ hello: 'world' }))
announce(await app.listen({ port: 0, host: '127.0.0.1' }))
