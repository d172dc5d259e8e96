/**
 * Filigree: the body arrives as a checked instance of its class. The application also has a record, as nearly all do, so that
 * the row shows what a database costs routes that do not use it.
 */
import {
  bootstrap,
  Controller,
  Field,
  Module,
  NoAuth,
  Post,
  Record,
} from '../../../dist/server/index.js'
import { announce } from '../contract.mjs'

class Line {
  @Field('string', { minLength: 1, maxLength: 40 }) sku!: string
  @Field('integer', { min: 1, max: 1000 }) quantity!: number
  @Field('numeric', { min: 0 }) price!: number
}

class Order {
  @Field('string', { minLength: 1, maxLength: 80 }) customer!: string
  @Field('string', { pattern: /^[A-Z]{2}-[0-9]{4,8}$/ }) reference!: string
  @Field('numeric', { min: 0 }) total!: number
  @Field('boolean') express!: boolean
  @Field(() => Line, { list: true }) lines!: Line[]
}

@Controller('/orders')
class OrderController {
  @Post('/', { body: Order })
  @NoAuth
  create(body: Order) {
    return body
  }
}

@Record({ table: 'customer' })
class Customer {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Controller('/customers', { crud: Customer })
class CustomerController {}

@Module({ controllers: [OrderController, CustomerController], records: [Customer] })
class AppModule {}

const app = await bootstrap(AppModule, {
  port: 0,
  host: '127.0.0.1',
  logger: false,
  database: 'sqlite::memory:',
})
announce(app.url)
