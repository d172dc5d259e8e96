/** The Nest application of the GET row, on either platform. */
import 'reflect-metadata'
import { Controller, Get, Module, Param, ParseIntPipe } from '@nestjs/common'
import { itemOf } from '../contract.mjs'

@Controller('items')
class ItemController {
  @Get(':id')
  show(@Param('id', ParseIntPipe) id: number) {
    return itemOf(id)
  }
}

@Module({ controllers: [ItemController] })
export class AppModule {}
