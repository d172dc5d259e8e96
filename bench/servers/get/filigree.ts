/** Filigree: the route's type converts, the value is the answer. With `WORKERS` that many processes behind one port. */
import cluster from 'node:cluster'
import { bootstrap, Controller, Get, Module } from '../../../dist/server/index.js'
import { announce, itemOf } from '../contract.mjs'

@Controller('/items')
class ItemController {
  @Get('/<id:int>')
  show(id: number) {
    return itemOf(id)
  }
}

@Module({ controllers: [ItemController] })
class AppModule {}

const workers = Number(process.env.WORKERS ?? 1)
const app = await bootstrap(AppModule, { port: 0, host: '127.0.0.1', logger: false, workers })
if (cluster.isPrimary) announce(app.url)
