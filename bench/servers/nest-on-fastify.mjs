/** Starts a Nest application on Fastify, with the headers of the specification on every response. */
import 'reflect-metadata'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { cors } from './contract.mjs'

/**
 * @param setUp called with the application before it listens, e.g. to add a pipe
 * @returns the address it listens on
 */
export async function startOnFastify(module, setUp = () => {}) {
  const app = await NestFactory.create(module, new FastifyAdapter(), { logger: false })
  const addCors = (request, reply, done) => {
    reply.headers(cors)
    done()
  }
  app.getHttpAdapter().getInstance().addHook('onRequest', addCors)
  setUp(app)
  await app.listen(0, '127.0.0.1')
  return app.getUrl()
}
