/** Fastify with the same around it: a hook, @fastify/rate-limit, fastify-metrics, its log, @fastify/otel. */
import { createRequire } from 'node:module'
import Fastify from 'fastify'
import pino from 'pino'
import { announce, cors, itemOf } from '../contract.mjs'

const require = createRequire(import.meta.url)
const parts = new Set((process.env.PARTS ?? '').split(' '))
const log =
  parts.has('log') && pino(pino.destination({ dest: '/dev/null', sync: false, minLength: 4096 }))
const app = Fastify(log ? { loggerInstance: log, disableRequestLogging: true } : {})

if (parts.has('tracing')) {
  const { FastifyOtelInstrumentation } = require('@fastify/otel')
  await app.register(new FastifyOtelInstrumentation().plugin())
}
app.addHook('onRequest', (request, reply, done) => {
  reply.headers(cors)
  done()
})
if (parts.has('interceptor')) app.addHook('preHandler', async () => undefined)
if (parts.has('throttle')) {
  await app.register(require('@fastify/rate-limit'), { max: 1_000_000_000, timeWindow: '1 minute' })
}
if (parts.has('metrics')) {
  const { default: metrics } = await import('fastify-metrics')
  const routeMetrics = { enabled: { histogram: true, summary: false } }
  await app.register(metrics.default ?? metrics, { endpoint: '/metrics', routeMetrics })
}
if (parts.has('log')) {
  // One line a request, at its end, as the access log of Filigree has it.
  app.addHook('onResponse', (request, reply, done) => {
    const { method, id, ip, routeOptions } = request
    request.log.info(
      {
        ...{ requestId: id, method, route: routeOptions.url, status: reply.statusCode },
        ...{ ms: reply.elapsedTime, bytes: reply.getHeader('content-length'), address: ip },
      },
      'request',
    )
    done()
  })
}

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
