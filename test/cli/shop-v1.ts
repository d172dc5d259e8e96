/** An application as it was. */
import { Controller, Field, Get, Module, NoAuth, Post } from 'filigree'

class Item {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('string', { optional: true }) note?: string
}

class NewItem {
  @Field('string', { maxLength: 80 }) name!: string
  @Field('numeric') price!: number
}

@Controller('/items')
class ItemController {
  @Get('/<id:int>', { returns: Item })
  show(id: number) {
    return { id, name: 'Lamp' }
  }

  @Post('/', { body: NewItem, returns: { 201: Item } })
  @NoAuth
  create(body: NewItem) {
    return { id: 1, name: body.name }
  }

  @Get('/old')
  old() {
    return {}
  }
}

@Module({ controllers: [ItemController] })
export class AppModule {}

export const options = { docs: { title: 'Shop', version: '1.0.0' } }
