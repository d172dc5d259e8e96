/** An application that cannot start. */
import { Controller, Get, Module } from 'filigree'

@Controller('/')
class FaultyController {
  @Get('/<id:integer>')
  show(id: number) {
    return { id }
  }
}

@Module({ controllers: [FaultyController] })
export class AppModule {}
