/** Nest 12 on Fastify. */
import { announce } from '../../servers/contract.mjs'
import { startOnFastify } from '../../servers/nest-on-fastify.mjs'
import { AppModule } from './nest-module.mjs'

announce(await startOnFastify(AppModule))
