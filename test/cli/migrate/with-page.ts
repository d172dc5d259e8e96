/** An application whose folder of static files is missing, as in an image for migrations. */
import { Module } from '../../../src/index.js'
import { Lamp } from './lamp.js'

@Module({ records: [Lamp] })
export class AppModule {}

export const options = {
  database: process.env.SHOP_DATABASE ?? 'sqlite::memory:',
  static: { '/': './not-built' },
}
