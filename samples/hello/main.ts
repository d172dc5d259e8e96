import { bootstrap, Controller, Get, Module } from 'filigree'

@Controller('/hello')
class HelloController {
  @Get('/<name>')
  greet(name: string) {
    return { message: `Hello, ${name}!` }
  }
}

@Module({ controllers: [HelloController] })
class AppModule {}

await bootstrap(AppModule)
