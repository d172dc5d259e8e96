/** Filigree: the routes of a record over many rows, of which some questions look at every one. */
import { bootstrap, Controller, Database, Module, NoAuth } from '../../../dist/server/index.js'
import { announce } from '../contract.mjs'
import { Category, Item, Review } from '../shop-records.mjs'

const wanted = 200_000

@Controller('/items', { crud: Item, only: ['list', 'find'] })
@NoAuth
class ItemController {}

@Module({ controllers: [ItemController], records: [Category, Item, Review] })
class AppModule {}

// What such questions cost is not refused here: it is what is measured.
const app = await bootstrap(AppModule, {
  port: 0,
  host: '127.0.0.1',
  logger: false,
  limits: { cost: Infinity },
})
const items = app.get(Database).records(Item)
const there = await items.count()
await items.insertMany(
  Array.from({ length: Math.max(0, wanted - there) }, (_, index) => ({
    name: `item number ${there + index} of a long list`,
    price: index % 1000,
    categoryId: 1 + (index % 20),
  })),
)
announce(app.url)
