/** Nest on Fastify with TypeORM: HttpArena's routes. */
import 'reflect-metadata'
import {
  Body,
  Controller,
  Get,
  Header,
  Module,
  NotFoundException,
  Param,
  ParseIntPipe,
  Post,
  Put,
  Query,
  Res,
} from '@nestjs/common'
import { Between, DataSource, EntitySchema } from 'typeorm'
import { announce } from '../contract.mjs'
import { startOnFastify } from '../nest-on-fastify.mjs'
import { connections } from '../shop-postgres.mjs'
import { processed, readPage, readRange, ShortCache, toItem, toMany, toPage } from './arena.mjs'

const column = (type: any) => ({ type })
const Item = new EntitySchema<any>({
  name: 'Item',
  tableName: 'items',
  columns: {
    id: { type: 'integer', primary: true },
    name: column('text'),
    category: column('text'),
    price: column('integer'),
    quantity: column('integer'),
    active: column('boolean'),
    tags: column('json'),
    rating_score: column('integer'),
    rating_count: column('integer'),
  },
})

const source = await new DataSource({
  type: 'postgres',
  url: process.env.DATABASE_URL,
  extra: { max: connections },
  entities: [Item],
}).initialize()
const items = source.getRepository(Item)
const cache = new ShortCache()

@Controller()
class ArenaController {
  @Get('baseline11')
  @Header('Content-Type', 'text/plain')
  baseline(@Query() { a, b }: any) {
    return String(Number(a) + Number(b))
  }

  @Get('json/:count')
  json(@Param('count', ParseIntPipe) count: number, @Query('m', ParseIntPipe) m: number) {
    return processed(count, m)
  }

  @Get('async-db')
  async range(@Query() query: any) {
    const { min, max, limit } = readRange(query)
    const found = await items.find({ where: { price: Between(min, max) }, take: limit })
    return toMany(found.map(toItem))
  }

  @Get('crud/items')
  async list(@Query() query: any) {
    const asked = readPage(query)
    const { category, limit, page } = asked
    const skip = (page - 1) * limit
    const found = await items.find({ where: { category }, order: { id: 'ASC' }, take: limit, skip })
    return toPage(found.map(toItem), asked)
  }

  @Get('crud/items/:id')
  async find(@Param('id', ParseIntPipe) id: number, @Res({ passthrough: true }) reply: any) {
    const cached = cache.get(id)
    reply.header('X-Cache', cached === undefined ? 'MISS' : 'HIT')
    if (cached !== undefined) return cached
    const found = await items.findOneBy({ id })
    if (found === null) throw new NotFoundException()
    const shown = toItem(found)
    cache.set(id, shown)
    return shown
  }

  @Post('crud/items')
  async create(@Body() body: any) {
    await items
      .createQueryBuilder()
      .insert()
      .values({ ...body, active: true, tags: [], rating_score: 0, rating_count: 0 })
      .orUpdate(['name', 'category', 'price', 'quantity'], ['id'])
      .execute()
    return toItem(await items.findOneBy({ id: body.id }))
  }

  @Put('crud/items/:id')
  async update(@Param('id', ParseIntPipe) id: number, @Body() { name, price, quantity }: any) {
    const { affected } = await items.update(id, { name, price, quantity })
    if (affected === 0) throw new NotFoundException()
    cache.forget(id)
    return toItem(await items.findOneBy({ id }))
  }
}

@Module({ controllers: [ArenaController] })
class AppModule {}

announce(await startOnFastify(AppModule))
