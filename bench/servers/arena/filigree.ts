/** Filigree: HttpArena's routes on a repository. */
import {
  bootstrap,
  Controller,
  Database,
  Field,
  Get,
  HttpError,
  Module,
  NoAuth,
  Post,
  Put,
  Record,
  reply,
} from '../../../dist/server/index.js'
import { announce } from '../contract.mjs'
import { processed, readPage, readRange, ShortCache, toMany, toPage } from './arena.mjs'

@Record({ table: 'items' })
class ArenaItem {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('string') category!: string
  @Field('integer') price!: number
  @Field('integer') quantity!: number
  @Field('boolean', { default: true }) active!: boolean
  @Field('string', { list: true, default: [] }) tags!: string[]
  @Field('integer', { default: 0 }) ratingScore!: number
  @Field('integer', { default: 0 }) ratingCount!: number
}

class NewItem {
  @Field('integer') id!: number
  @Field('string') name!: string
  @Field('string') category!: string
  @Field('integer') price!: number
  @Field('integer') quantity!: number
}

class Changed {
  @Field('string') name!: string
  @Field('integer') price!: number
  @Field('integer') quantity!: number
}

const show = ({ id, name, category, price, quantity, active, tags, ...rating }: ArenaItem) => ({
  id,
  name,
  category,
  price,
  quantity,
  active,
  tags,
  rating: { score: rating.ratingScore, count: rating.ratingCount },
})

@Controller('/')
@NoAuth
class ArenaController {
  static inject = [Database]
  private readonly items
  private readonly cache = new ShortCache()
  constructor(database: Database) {
    this.items = database.records(ArenaItem)
  }

  @Get('/baseline11')
  baseline(query: { a: string; b: string }) {
    return String(Number(query.a) + Number(query.b))
  }

  @Get('/json/<count:int>')
  json(count: number, query: { m: string }) {
    return processed(count, Number(query.m))
  }

  @Get('/async-db')
  async range(query: object) {
    const { min, max, limit } = readRange(query)
    const found = await this.items.list({ where: { price: { gte: min, lte: max } }, limit })
    return toMany(found.map(show))
  }

  @Get('/crud/items')
  async list(query: object) {
    const asked = readPage(query)
    const { category, limit, page } = asked
    const found = await this.items.list({ where: { category }, limit, offset: (page - 1) * limit })
    return toPage(found.map(show), asked)
  }

  @Get('/crud/items/<id:int>')
  async find(id: number) {
    const cached = this.cache.get(id)
    if (cached !== undefined) return reply(cached).header('X-Cache', 'HIT')
    const found = await this.items.find(id)
    if (found === null) throw new HttpError(404)
    const shown = show(found)
    this.cache.set(id, shown)
    return reply(shown).header('X-Cache', 'MISS')
  }

  @Post('/crud/items', { body: NewItem })
  async create(body: NewItem) {
    return reply(show(await this.items.upsert({ ...body }, { by: 'id' })), 201)
  }

  @Put('/crud/items/<id:int>', { body: Changed })
  async update(id: number, body: Changed) {
    const changed = await this.items.update(id, { ...body })
    if (changed === null) throw new HttpError(404)
    this.cache.forget(id)
    return show(changed)
  }
}

@Module({ controllers: [ArenaController], records: [ArenaItem] })
class AppModule {}

const app = await bootstrap(AppModule, { port: 0, host: '127.0.0.1', logger: false })
announce(app.url)
