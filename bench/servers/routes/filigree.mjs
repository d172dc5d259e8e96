/** Filigree with ROUTES typed routes; the decorators are called by hand, as the compiler would. */
import { bootstrap, Controller, Get, Module } from '../../../dist/server/index.js'
import { announce } from '../contract.mjs'
import { answerOf, prefixOf, routeCount, routesPerController } from '../many-routes.mjs'

function declareController(first) {
  class ManyService {
    answer(n, id) {
      return answerOf(n, id)
    }
  }
  class ManyController {
    static inject = [ManyService]
    constructor(service) {
      this.service = service
    }
  }
  const { prototype } = ManyController
  for (let n = first; n < Math.min(first + routesPerController, routeCount); n++) {
    const value = function (id) {
      return this.service.answer(n, id)
    }
    const descriptor = { value, writable: true, configurable: true }
    Object.defineProperty(prototype, `show${n}`, descriptor)
    Get(`${prefixOf(n)}/<id:int>`)(prototype, `show${n}`, descriptor)
  }
  Controller('/')(ManyController)
  return { controller: ManyController, provider: ManyService }
}

const declared = []
for (let n = 0; n < routeCount; n += routesPerController) declared.push(declareController(n))

class AppModule {}
Module({
  controllers: declared.map((part) => part.controller),
  providers: declared.map((part) => part.provider),
})(AppModule)

const start = performance.now()
const app = await bootstrap(AppModule, { port: 0, host: '127.0.0.1', logger: false })
announce(app.url, { bootstrapMilliseconds: performance.now() - start })
