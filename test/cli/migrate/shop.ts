/** A shop whose records are migrated by the command; its database lies where SHOP_DATABASE says. */
import { Module } from '../../../src/index.js'
import { Lamp } from './lamp.js'

@Module({ records: [Lamp] })
export class AppModule {}

export const options = { database: process.env.SHOP_DATABASE ?? 'sqlite::memory:' }
