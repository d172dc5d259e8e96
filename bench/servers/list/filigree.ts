/** Filigree: the repository's list is the answer. */
import { bootstrap, Controller, Database, Get, Module } from '../../../dist/server/index.js'
import { announce } from '../contract.mjs'
import { Category, Item, Review } from '../shop-records.mjs'

@Controller('/items')
class ItemController {
  static inject = [Database]
  private readonly items
  constructor(database: Database) {
    this.items = database.records(Item)
  }

  @Get('/', { returns: [Item] })
  list() {
    return this.items.list({ limit: 50 })
  }
}

@Module({ controllers: [ItemController], records: [Category, Item, Review] })
class AppModule {}

// The database is the one that DATABASE_URL names.
const app = await bootstrap(AppModule, { port: 0, host: '127.0.0.1', logger: false })
announce(app.url)
