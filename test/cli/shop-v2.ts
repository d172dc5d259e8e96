/** The same application after changes that break its clients. */
import { Controller, Field, Get, Module, Post } from 'filigree'

class Item {
  @Field('id') id!: number
  @Field('string', { nullable: true }) name!: string | null
}

class NewItem {
  @Field('string', { maxLength: 40 }) name!: string
  @Field('integer') price!: number
  @Field('string') color!: string
}

@Controller('/items')
class ItemController {
  @Get('/<key:int>', { returns: Item })
  show(key: number) {
    return { id: key, name: null }
  }

  @Post('/', { body: NewItem, returns: { 201: Item } })
  create(body: NewItem) {
    return { id: 1, name: body.name }
  }
}

@Module({ controllers: [ItemController] })
export default class Shop {}
