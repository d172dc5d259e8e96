/** Filigree: the records with their routes and their schema, and one route that changes many rows. No route requires a token. */
import {
  BeforeWrite,
  BelongsTo,
  bootstrap,
  Controller,
  Database,
  Field,
  HttpError,
  Module,
  NoAuth,
  Post,
  Record,
  type Rel,
  type WriteContext,
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

/** A record with a rule over another record: its hook reads before the row is written. */
@Record
class Sale {
  @Field('id') id!: number
  @Field('integer', { min: 1 }) pieces!: number
  @Field('integer') itemId!: number
  @BelongsTo(() => Item) item!: Rel<Item>

  @BeforeWrite()
  async checkPrice({ records }: WriteContext<Sale>) {
    const item = await records(Item).find(this.itemId)
    if (item === null || item.price * this.pieces > 1_000_000)
      throw new HttpError(409, 'This sale needs a permission.')
  }
}

@Controller('/sales', { crud: Sale })
@NoAuth
class SaleController {}

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

@Module({
  controllers: [ItemController, PriceController, SaleController],
  records: [Category, Item, Review, Sale],
})
class AppModule {}

// The database is the one that DATABASE_URL names.
const app = await bootstrap(AppModule, {
  port: 0,
  host: '127.0.0.1',
  logger: false,
  graphql: { noAuth: true },
})
announce(app.url)
