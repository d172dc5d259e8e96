/** The application whose routes are written as types. */
import { Module } from 'filigree'
import { ItemController, otherControllers } from './controllers.js'
import { Customer, Label, Order } from './orders.js'

@Module({ controllers: [ItemController, ...otherControllers], records: [Customer, Label, Order] })
export class AppModule {}
