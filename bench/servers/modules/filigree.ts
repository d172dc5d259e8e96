/** Filigree with the parts that `PARTS` names around the typed GET: an interceptor, modules. */
import pino from 'pino'
import { bootstrap, Controller, Get, Module } from '../../../dist/server/index.js'
import { accessLog } from '../../../dist/server/access-log.js'
import { metrics } from '../../../dist/server/metrics.js'
import { throttle } from '../../../dist/server/throttle.js'
import { tracing } from '../../../dist/server/tracing.js'
import { announce, itemOf } from '../contract.mjs'

@Controller('/items')
class ItemController {
  @Get('/<id:int>')
  show(id: number) {
    return itemOf(id)
  }
}

class PassOn {
  intercept(_request: unknown, next: () => Promise<unknown>) {
    return next()
  }
}

const parts = new Set((process.env.PARTS ?? '').split(' '))
const imports = [
  ...(parts.has('throttle') ? [throttle({ limit: '100000000/m' })] : []),
  ...(parts.has('metrics') ? [metrics()] : []),
  ...(parts.has('log') ? [accessLog()] : []),
  ...(parts.has('tracing') ? [tracing()] : []),
]

@Module({
  controllers: [ItemController],
  imports,
  use: parts.has('interceptor') ? [PassOn] : [],
})
class AppModule {}

const logger =
  parts.has('log') && pino(pino.destination({ dest: '/dev/null', sync: false, minLength: 4096 }))
const app = await bootstrap(AppModule, { port: 0, host: '127.0.0.1', logger })
announce(app.url)
