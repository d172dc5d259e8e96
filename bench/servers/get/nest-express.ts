/** Nest 12 on Express. */
import { announce } from '../../servers/contract.mjs'
import { startOnExpress } from '../../servers/nest-on-express.mjs'
import { AppModule } from './nest-module.mjs'

announce(await startOnExpress(AppModule))
