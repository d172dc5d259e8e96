/** The shop of `shop.ts`, in the database that DATABASE_URL names. */
import { Module } from '../../../src/index.js'
import { Lamp } from './lamp.js'

@Module({ records: [Lamp] })
export class AppModule {}
