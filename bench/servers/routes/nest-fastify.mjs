/** Nest 12 on Fastify with ROUTES routes; the decorators are called by hand, as the compiler would. */
import 'reflect-metadata'
import { Controller, Get, Injectable, Module, Param, ParseIntPipe } from '@nestjs/common'
import { announce } from '../contract.mjs'
import { answerOf, prefixOf, routeCount, routesPerController } from '../many-routes.mjs'
import { startOnFastify } from '../nest-on-fastify.mjs'

function declareController(first) {
  class ManyService {
    answer(n, id) {
      return answerOf(n, id)
    }
  }
  class ManyController {
    constructor(service) {
      this.service = service
    }
  }
  Injectable()(ManyService)
  Reflect.defineMetadata('design:paramtypes', [ManyService], ManyController)
  const { prototype } = ManyController
  for (let n = first; n < Math.min(first + routesPerController, routeCount); n++) {
    const value = function (id) {
      return this.service.answer(n, id)
    }
    const descriptor = { value, writable: true, configurable: true }
    Object.defineProperty(prototype, `show${n}`, descriptor)
    Param('id', ParseIntPipe)(prototype, `show${n}`, 0)
    Get(`${prefixOf(n)}/:id`)(prototype, `show${n}`, descriptor)
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
const url = await startOnFastify(AppModule)
announce(url, { bootstrapMilliseconds: performance.now() - start })
