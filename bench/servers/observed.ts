/** A typed GET with the module that `PART` names around it; it says its processor time when it is asked. */
import pino from 'pino'
import { bootstrap, Controller, Get, Module } from '../../../dist/server/index.js'
import { accessLog } from '../../../dist/server/access-log.js'
import { metrics } from '../../../dist/server/metrics.js'

@Controller('/items')
class ItemController {
  @Get('/<id:int>')
  show(id: number) {
    return { id, name: 'lamp', price: 9.5, inStock: true }
  }
}

const part = process.env.PART ?? ''
const imports = part === 'metrics' ? [metrics()] : part.startsWith('log') ? [accessLog()] : []

@Module({ controllers: [ItemController], imports })
class AppModule {}

const app = await bootstrap(AppModule, {
  port: 0,
  host: '127.0.0.1',
  // What an application brings is told of each line by itself; pino may gather them.
  ...(part === 'log by a pino of its own' ? { logger: pino() } : {}),
  ...(part === 'log by a pino that gathers'
    ? { logger: pino(pino.destination({ minLength: 8192 })) }
    : {}),
})
process.on('message', () => process.send?.({ usage: process.cpuUsage() }))
process.send?.({ url: app.url })
