/** The application whose routes are written as types. */
import { Module } from 'filigree'
import { ItemController, others } from './controllers.js'
import { Customer, Order } from './orders.js'

@Module({ controllers: [ItemController, ...others], records: [Customer, Order] })
export class AppModule {}
