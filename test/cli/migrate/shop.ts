/** A shop whose records are migrated by the command; its database lies where SHOP_DATABASE says. */
import { Field, Module, Record } from '../../../src/index.js'

@Record
class Lamp {
  @Field('id') id!: number
  @Field('string', { maxLength: 20, unique: true }) name!: string
}

@Module({ records: [Lamp] })
export class AppModule {}

export const options = { database: process.env.SHOP_DATABASE ?? 'sqlite::memory:' }
