/** Starts a Nest application on Fastify or Express, with the headers of the specification on every response. */
import 'reflect-metadata'
import { NestFactory } from '@nestjs/core'
import { cors } from './contract.mjs'

/**
 * @param setUp called with the application before it listens, e.g. to add a pipe
 * @returns the address it listens on
 */
export async function startOnFastify(module, setUp = () => {}) {
  const { FastifyAdapter } = await import('@nestjs/platform-fastify')
  const app = await NestFactory.create(module, new FastifyAdapter(), { logger: false })
  app
    .getHttpAdapter()
    .getInstance()
    .addHook('onRequest', (request, reply, done) => {
      reply.headers(cors)
      done()
    })
  setUp(app)
  await app.listen(0, '127.0.0.1')
  return app.getUrl()
}

/** The same on Express, without the ETag and the X-Powered-By that nobody else makes. */
export async function startOnExpress(module) {
  const { ExpressAdapter } = await import('@nestjs/platform-express')
  const app = await NestFactory.create(module, new ExpressAdapter(), { logger: false })
  app.disable('etag')
  app.disable('x-powered-by')
  app.use((request, response, next) => {
    response.set(cors)
    next()
  })
  await app.listen(0, '127.0.0.1')
  return app.getUrl()
}
