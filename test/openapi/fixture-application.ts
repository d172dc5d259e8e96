/** An application that uses every feature that the documentation supports. */
import { IsEmail, IsOptional, Length } from 'class-validator'
import {
  Controller,
  Delete,
  Doc,
  Field,
  Get,
  HttpError,
  Module,
  NoAuth,
  Patch,
  Post,
  Put,
  reply,
  Secured,
  type UploadedFile,
} from 'filigree'

export class Maker {
  @Field('string', { maxLength: 60, description: 'As on the label.' }) name!: string
  @Field('string', { format: 'url', optional: true }) site?: string
  /** Refers back to the class that contains it. */
  @Field(() => Item, { list: true, optional: true }) items?: Item[]
}

export class Item {
  @Field('id', { readOnly: true }) id!: number
  @Field('string', { minLength: 1, maxLength: 80, pattern: /^[\w ]+$/, example: 'Lamp' })
  name!: string
  @Field('numeric', { min: 0, max: 10_000 }) price!: number
  @Field('string', { oneOf: ['red', 'green'], nullable: true, default: 'red' })
  color!: string | null
  @Field('string', { list: true, minItems: 1, maxItems: 5, optional: true }) tags?: string[]
  @Field('datetime', { readOnly: true, default: 'now' }) createdAt!: string
  @Field(() => Maker, { nullable: true, optional: true }) maker?: Maker | null
  @Field('blob', { optional: true, maxLength: 1000 }) thumbnail?: Buffer
  @Field('json', { optional: true }) extra?: unknown
  @Field('string', { hidden: true, optional: true }) secret?: string
}

export class ItemQuery {
  @Field('string', { optional: true, description: 'Part of the name.' }) q?: string
  @Field('integer', { default: 10, min: 1, max: 100 }) limit!: number
  @Field('string', { list: true, optional: true }) tag?: string[]
  @Field('boolean', { optional: true }) sold?: boolean
  @Field('json', { optional: true }) where?: unknown
}

export class Contact {
  @IsEmail() email!: string
  @IsOptional() @Length(2, 40) name?: string
}

export class Conflict {
  @Field('string') error!: string
  @Field('string', { optional: true }) taken?: string
}

const lamp = { id: 7, name: 'Lamp', price: 9.5, color: 'red', createdAt: '2026-11-20T10:00:00Z' }
const items = new Map<number, object>([[7, lamp]])

@Controller('/items')
@Doc({ tags: ['items'], description: 'Things on the shelf.' })
export class ItemController {
  @Get('/', { query: ItemQuery, returns: [Item] })
  @Doc({ summary: 'Find items', description: 'Those whose name has **q** in it.' })
  list(query: ItemQuery) {
    return [...items.values()].slice(0, query.limit)
  }

  @Get('/<id:int>', { returns: Item })
  @Doc({ description: 'One item', exampleResponse: lamp })
  show(id: number) {
    return items.get(id)
  }

  @Get('/<name>')
  @Doc({ exampleResponse: { found: [{ id: 1 }, { id: 2, note: null }], total: 2 } })
  byName(name: string) {
    return { found: [], total: name.length }
  }

  @Post('/', { body: Item, returns: { 201: Item, 409: Conflict } })
  @Doc({
    example: { name: 'Lamp', price: 9.5 },
    responses: {
      409: { description: 'The name is taken.', example: { error: 'Taken', code: 'CONFLICT' } },
    },
  })
  create(body: Item) {
    const id = items.size + 100
    items.set(id, Object.assign({}, body, { id, createdAt: lamp.createdAt }))
    return reply(items.get(id), 201)
  }

  @Put('/<id:int>', { body: Item, returns: Item })
  @Secured('admin', 'editor')
  replace(id: number, body: Item) {
    return Object.assign({}, body, { id, createdAt: lamp.createdAt })
  }

  @Patch('/<key:int>/price')
  @Doc({ example: { price: 5 }, headers: { 'If-Match': 'The version that is meant.' } })
  reprice(key: number, body: { price: number }) {
    return { key, price: body.price }
  }

  @Delete('/<id:int>', { status: 204 })
  @Secured({ roles: ['admin', 'audit'], all: true })
  @Doc({ deprecated: true, responses: { 404: 'There was none.' } })
  remove(id: number) {
    if (!items.delete(id)) throw new HttpError(404)
  }
}

@Controller('/misc')
export class MiscController {
  @Post('/contact', { body: Contact })
  @NoAuth
  contact(body: Contact) {
    return { to: body.email }
  }

  @Post('/photos/<album:slug>', { limit: '2mb' })
  @Doc({ files: { photo: 'A JPEG.' }, example: { title: 'Sea' }, responses: { 201: 'Kept.' } })
  upload(album: string, files: { photo: UploadedFile }) {
    return reply({ album, size: files.photo.size }, 201)
  }

  @Get('/report')
  @Doc({ secure: true, exampleResponse: 'text' })
  report() {
    return 'text'
  }

  @Get('/files/<path:path>')
  files(path: string) {
    return path
  }

  @Get('/café/<x:float>/<id:uuid>')
  odd(x: number, id: string) {
    return { x, id }
  }

  @Post('/hook')
  @NoAuth
  @Put('/hook')
  hook(body: unknown) {
    return { seen: typeof body }
  }
}

@Module({ controllers: [ItemController, MiscController] })
export class FixtureModule {}
