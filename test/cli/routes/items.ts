/** Handlers of every kind: checked and unchecked bodies and queries, files, replies, nothing. */
import {
  Controller,
  Delete,
  Field,
  Get,
  NoAuth,
  Patch,
  Post,
  Put,
  reply,
  type HttpRequest,
  type UploadedFile,
} from 'filigree'

export class NewItem {
  @Field('string', { maxLength: 80 }) name!: string
  @Field('numeric', { min: 0 }) price!: number
  @Field('datetime', { optional: true }) soldAt?: string
  @Field('integer', { default: 1 }) count!: number
  @Field('string', { optional: true, readOnly: true }) addedBy?: string
}

/** Not exported, so that the types refer to the arguments of handlers. */
class Search {
  @Field('string') q!: string
  @Field('integer', { default: 20 }) limit!: number
}

class Change {
  @Field('string') name!: string
}

export class Item {
  @Field('integer') id!: number
  @Field('string') name!: string
  @Field('datetime') soldAt!: string | Date
}

interface ItemView {
  id: number
  name: string
  soldAt: Date
}

@Controller('/items')
@NoAuth
export class ItemController {
  @Get('/', { query: Search, returns: [Item] })
  async list(query: Search) {
    return [{ id: 1, name: `${query.q} ${query.limit}`, soldAt: new Date(0) }]
  }
  @Get('/{id:int}', { returns: Item })
  show(id: number): ItemView | null {
    return id > 100 ? null : { id, name: 'Lamp', soldAt: new Date(0) }
  }
  @Get('/tagged/<tag>')
  tagged(tag: string, query: { page?: number }) {
    return { tag, page: query.page ?? null }
  }
  @Post('/', { body: NewItem })
  create(body: NewItem) {
    return reply({ name: body.name, count: body.count }, 201)
  }
  @Post('/many', { body: [NewItem] })
  createMany(body: NewItem[]) {
    return { names: body.map(({ name }) => name) }
  }
  @Put('/<id:int>/name', { body: Change })
  rename(id: number, body: Change) {
    return { id, name: body.name }
  }
  @Patch('/<id:int>/')
  change(id: number, body: unknown) {
    return { id, body }
  }
  @Delete('/<id:int>')
  remove(): void {
    return undefined
  }
  @Post('/photo')
  photo(files: Record<string, UploadedFile>) {
    return { names: Object.keys(files) }
  }
  @Post('/raw')
  raw(request: HttpRequest) {
    return { body: request.body }
  }
}
