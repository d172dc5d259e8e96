/** Nest 12 on Express. */
import { announce } from '../contract.mjs'
import { startOnExpress } from '../nest-on-express.mjs'
import { AppModule } from './nest-module.mjs'

announce(await startOnExpress(AppModule))
