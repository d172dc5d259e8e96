/** The other half of the circular import: an order has lines. Every field has an explicit kind, so that no compiler has to emit types. */
import { Field, omit, Page } from 'filigree'
import { Line } from './line.js'

export class Order {
  @Field('id') id!: number
  @Field('string', { maxLength: 30, description: 'Who ordered' }) customer!: string
  @Field('boolean', { default: false }) express!: boolean
  @Field('integer') copies = 1
  @Field('datetime', { optional: true }) due?: string
  @Field('string', { hidden: true, optional: true }) margin?: string
  @Field(() => Line, { list: true, minItems: 1 }) lines!: Line[]
  @Field('string', { optional: true, format: 'email', minLength: 5, maxLength: 40 }) mail?: string
}

export class NewOrder extends omit(Order, 'id') {}

export const OrderPage = Page.of(Order)

export class OrderQuery {
  @Field('integer', { default: 10, max: 100 }) limit!: number
  @Field('boolean', { optional: true }) express?: boolean
  @Field('string', { list: true, optional: true }) tag?: string[]
}
