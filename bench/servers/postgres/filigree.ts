/** Filigree: the records with their routes and their schema, and one route that changes many rows. Nobody asks for a token. */
import {
  bootstrap,
  Controller,
  Database,
  Field,
  Module,
  NoAuth,
  Post,
} from '../../../dist/server/index.js'
import { announce } from '../contract.mjs'
import { Category, Item, Review } from '../shop-records.mjs'

class Price {
  @Field('integer') id!: number
  @Field('numeric', { min: 0 }) price!: number
}

class Prices {
  @Field(() => Price, { list: true, maxItems: 100 }) prices!: Price[]
}

@Controller('/items', { crud: Item })
@NoAuth
class ItemController {}

@Controller('/prices')
class PriceController {
  static inject = [Database]
  private readonly items
  constructor(database: Database) {
    this.items = database.records(Item)
  }

  @Post('/', { body: Prices, status: 200 })
  @NoAuth
  async change(body: Prices) {
    const changed = await this.items.updateMany(body.prices.map(({ id, price }) => ({ id, price })))
    return { changed: changed.length }
  }
}

@Module({ controllers: [ItemController, PriceController], records: [Category, Item, Review] })
class AppModule {}

// The database is the one that DATABASE_URL names.
const app = await bootstrap(AppModule, {
  port: 0,
  host: '127.0.0.1',
  logger: false,
  graphql: { noAuth: true },
})
announce(app.url)
