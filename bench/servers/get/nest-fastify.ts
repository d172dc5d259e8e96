/** Nest 12 on Fastify. */
import { announce } from '../contract.mjs'
import { startOnFastify } from '../nest-on-fastify.mjs'
import { AppModule } from './nest-module.mjs'

announce(await startOnFastify(AppModule))
