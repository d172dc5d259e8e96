/** Filigree: the route's type converts, the value is the answer. */
import { bootstrap, Controller, Get, Module } from '../../../dist/server/index.js'
import { announce, itemOf } from '../../servers/contract.mjs'

@Controller('/items')
class ItemController {
  @Get('/<id:int>')
  show(id: number) {
    return itemOf(id)
  }
}

@Module({ controllers: [ItemController] })
class AppModule {}

const app = await bootstrap(AppModule, { port: 0, host: '127.0.0.1', logger: false })
announce(app.url)
