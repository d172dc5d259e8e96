/** Nest on Fastify with TypeORM: the REST rows as its manual shows them. */
import 'reflect-metadata'
import {
  Body,
  Controller,
  Get,
  Header,
  HttpCode,
  Module,
  NotFoundException,
  Param,
  ParseIntPipe,
  Patch,
  Post,
  Query,
  Res,
} from '@nestjs/common'
import { DataSource, EntitySchema } from 'typeorm'
import { announce } from '../contract.mjs'
import { startOnFastify } from '../nest-on-fastify.mjs'
import { connections } from '../shop-postgres.mjs'

const Item = new EntitySchema({
  name: 'Item',
  tableName: 'item',
  columns: {
    id: { type: 'integer', primary: true, generated: true },
    name: { type: 'text' },
    price: { type: 'double precision' },
    categoryId: { type: 'integer', name: 'category_id' },
  },
})

const source = await new DataSource({
  type: 'postgres',
  url: process.env.DATABASE_URL,
  extra: { max: connections },
  entities: [Item],
}).initialize()
const items = source.getRepository(Item)

@Controller()
class ItemController {
  @Get('items/:id')
  async show(@Param('id', ParseIntPipe) id: number) {
    const found = await items.findOneBy({ id })
    if (found === null) throw new NotFoundException()
    return found
  }

  @Get('items')
  async list(@Query('limit') limit: string, @Res({ passthrough: true }) reply: any) {
    const [rows, total] = await items.findAndCount({ order: { id: 'ASC' }, take: Number(limit) })
    reply.header('X-Total-Count', total)
    return rows
  }

  @Post('items')
  create(@Body() body: object) {
    return items.save(items.create(body))
  }

  @Patch('items/:id')
  async update(@Param('id', ParseIntPipe) id: number, @Body() body: object) {
    const found = await items.findOneBy({ id })
    if (found === null) throw new NotFoundException()
    return items.save(Object.assign(found, body))
  }

  @Post('prices')
  @HttpCode(200)
  @Header('Content-Type', 'application/json; charset=utf-8')
  async change(@Body() body: { prices: { id: number; price: number }[] }) {
    await source.transaction(async (manager) => {
      for (const { id, price } of body.prices) await manager.update(Item, id, { price })
    })
    return { changed: body.prices.length }
  }
}

@Module({ controllers: [ItemController] })
class AppModule {}

announce(await startOnFastify(AppModule))
