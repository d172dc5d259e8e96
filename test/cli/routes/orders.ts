/** The generated routes of a record, a handwritten route, and a class that is exported with the name of another class. */
import { BelongsTo, Controller, Field, Get, ManyToMany, NoAuth, Record, type Rel } from 'filigree'

@Record
export class Customer {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('string', { hidden: true, default: '' }) secret!: string
}

@Record
export class Label {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') word!: string
}

@Record({ timestamps: true })
export class Order {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('integer', { default: 1 }) count!: number
  @Field('string', { optional: true, nullable: true }) note?: string | null
  @Field('integer', { optional: true, nullable: true }) customerId?: number | null
  @BelongsTo(() => Customer) customer!: Rel<Customer>
  @ManyToMany(() => Label) labels!: Rel<Label[]>
  createdAt!: string
}

@Controller('/orders', { crud: Order })
@NoAuth
export class OrderController {
  @Get('/count')
  count(): number {
    return 2
  }
}

/** Without a handler of its own, so that no type refers to it. */
@Controller('/customers', { crud: Customer, only: ['list'] })
@NoAuth
class CustomerController {}

@Controller('/old')
@NoAuth
class OldController {
  @Get("/it's")
  show(): { old: true } {
    return { old: true }
  }
}

export { OldController as ItemController }

export const controllers = [OrderController, OldController, CustomerController]
