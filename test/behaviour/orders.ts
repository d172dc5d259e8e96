/** The classes of an order as clients send it, and a valid order. */
import { Field } from '../../src/index.js'

export class Line {
  @Field('string', { minLength: 2 }) sku!: string
  @Field('integer', { min: 1 }) qty!: number
}

export class Order {
  @Field('integer', { readOnly: true }) id!: number
  @Field('string', { maxLength: 10, pattern: /^[A-Z]/ }) customer!: string
  @Field('numeric', { min: 0, max: 1000 }) price!: number
  @Field(() => Line, { list: true, minItems: 1, maxItems: 1000 }) lines!: Line[]
  @Field('string', { optional: true, format: 'email' }) mail?: string
  @Field('string', { nullable: true, optional: true, oneOf: ['red', 'blue'] }) colour?:
    string | null
  @Field('boolean', { default: false }) gift!: boolean
  @Field('datetime', { optional: true }) due?: string
  @Field('string', { hidden: true, optional: true }) secret?: string
  @Field('string', { list: true, optional: true, maxItems: 3 }) tags?: string[]
}

export const order = { customer: 'Ada', price: 9.5, lines: [{ sku: 'ab', qty: 2 }] }
