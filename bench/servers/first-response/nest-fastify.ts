/** Nest 12 on Fastify that says hello. */
import 'reflect-metadata'
import { Controller, Get, Module } from '@nestjs/common'
import { announce } from '../contract.mjs'
import { startOnFastify } from '../nest-on-fastify.mjs'

@Controller()
class HelloController {
  @Get()
  hello() {
    return { hello: 'world' }
  }
}

@Module({ controllers: [HelloController] })
class AppModule {}

announce(await startOnFastify(AppModule))
