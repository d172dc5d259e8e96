/** Filigree: the records, and the schema and statements it makes of them. No peer asks for a token, so neither does it. */
import { bootstrap, Module } from '../../../dist/server/index.js'
import { announce } from '../contract.mjs'
import { Category, Item, Review } from '../shop-records.mjs'

@Module({ records: [Category, Item, Review] })
class AppModule {}

// The database is the one that DATABASE_URL names.
const app = await bootstrap(AppModule, {
  port: 0,
  host: '127.0.0.1',
  logger: false,
  graphql: { noAuth: true },
})
announce(app.url)
