/** `@Field` against the type of its property, which the compiler checks. Source: docs/fields.md, Types of properties. */
import { describe, expect, it } from '@jest/globals'
import { type ExactNumber, Field, type Generated } from '../../src/index.js'
import { shapeOf } from './compiled.js'

class Money {
  @Field('decimal') amount!: ExactNumber
}

class Fitting {
  @Field('string', { oneOf: ['red', 'blue'] }) color!: 'red' | 'blue'
  @Field('string', { default: '' }) note!: Generated<string>
  @Field('integer') any!: unknown
  @Field('integer', { nullable: true }) size!: number | null
  @Field('integer', { nullable: true, optional: true }) weight?: number | null
  @Field('integer', { optional: true }) length?: number
  @Field('string', { list: true }) tags!: string[]
  @Field('string', { list: true }) readonly words!: readonly ('a' | 'b')[]
  @Field('decimal') price!: string
  @Field('blob') picture!: Buffer
  @Field('json') data!: { a: number }
  @Field('id', { key: 'uuid' }) id!: string
  @Field(() => Money) money!: Money
  @Field(() => [Money]) rates!: Money[]
  @Field(() => Money, { list: true }) parts!: Money[]
  @Field(() => Fitting, { optional: true, nullable: true }) parent?: Fitting | null
  @Field('string') private secret = ''
  read(): string {
    return this.secret
  }
}

class Wrong {
  // @ts-expect-error an integer is a number
  @Field('integer') a!: string
  // @ts-expect-error a time is text
  @Field('datetime') b!: Date
  // @ts-expect-error a decimal is text, because numbers are not exact
  @Field('decimal') c!: number
  // @ts-expect-error the field may be null
  @Field('string', { nullable: true }) d!: string
  // @ts-expect-error the field is a list
  @Field('string', { list: true }) e!: string
  // @ts-expect-error the field is no list
  @Field('string') f!: string[]
  // @ts-expect-error another class
  @Field(() => Money) g!: { price: number }
  // @ts-expect-error a list of the class
  @Field(() => [Money]) h!: Money
  // @ts-expect-error the field is a boolean
  @Field('boolean') i!: number
}

describe('types of properties', () => {
  it('do not change what a field is at run time', () => {
    expect(shapeOf(Fitting).fields).toHaveLength(17)
    expect(shapeOf(Wrong).fields).toHaveLength(9)
  })

  it('let decorators be passed to functions', () => {
    const apply = (decorator: PropertyDecorator): PropertyDecorator => decorator
    class Item {
      name!: string
    }
    apply(Field('string'))(Item.prototype, 'name')
    expect(shapeOf(Item).fields).toHaveLength(1)
  })
})
