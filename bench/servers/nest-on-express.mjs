/** Starts a Nest application on Express, without the ETag and the X-Powered-By that nobody else makes. */
import 'reflect-metadata'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { cors } from './contract.mjs'

/** @returns the address it listens on */
export async function startOnExpress(module) {
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
