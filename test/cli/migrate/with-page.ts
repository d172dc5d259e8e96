/** An application whose folder of static files is missing, as in an image for migrations. */
import { bootstrap, Module } from 'filigree'
import { Lamp } from './lamp.js'

@Module({ records: [Lamp] })
class AppModule {}

await bootstrap(AppModule, {
  database: process.env.SHOP_DATABASE ?? 'sqlite::memory:',
  static: { '/': './not-built' },
})
