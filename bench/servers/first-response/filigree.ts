/** Filigree that says hello, with every option at its default. */
import { bootstrap, Controller, Get, Module } from '../../../dist/server/index.js'
import { announce } from '../contract.mjs'

@Controller('/')
class HelloController {
  @Get('/')
  hello() {
    return { hello: 'world' }
  }
}

@Module({ controllers: [HelloController] })
class AppModule {}

const app = await bootstrap(AppModule, { port: 0, host: '127.0.0.1' })
announce(app.url)
