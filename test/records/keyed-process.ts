/** Serves writes with an `Idempotency-Key` until it is killed. Its handlers never end. Bundled by test/modules/abandoned-idempotency-keys.long.ts. */
import { bootstrap, Controller, Module, Post } from '../../src/index.js'
import { idempotent } from '../../src/modules/idempotent/idempotent.js'

class OrderController {
  create(): Promise<never> {
    process.stdout.write('arrived\n')
    return new Promise(() => undefined)
  }
}
Controller('/orders')(OrderController)
Post('/')(
  OrderController.prototype,
  'create',
  Object.getOwnPropertyDescriptor(OrderController.prototype, 'create') as never,
)

class AppModule {}
Module({ controllers: [OrderController], imports: [idempotent()] })(AppModule)

const app = await bootstrap(AppModule, { port: 0, host: '127.0.0.1', logger: false })
process.stdout.write(`listens ${app.url}\n`)
