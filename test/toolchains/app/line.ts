/** One half of a circular import: a line has its order. */
import { Field } from 'filigree'
import { Order } from './order.js'

export class Line {
  @Field('string', { maxLength: 20 }) sku!: string
  @Field('integer', { min: 1 }) qty!: number
  // A union, so that compilers emit no reference to a class that is not defined yet.
  @Field(() => Order, { optional: true, nullable: true }) order?: Order | null

  get label(): string {
    return `${this.qty} × ${this.sku}`
  }
}
