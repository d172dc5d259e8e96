import { describe, expect, it } from '@jest/globals'
import * as cv from 'class-validator'
import { Field } from '../../src/index.js'
import { generateKey, shapeOf } from './compiled.js'

class Line {
  @Field('integer', { min: 1 }) qty!: number
}

class Base {
  @Field('id') id!: number
  @Field('string') name!: string
}

class Order extends Base {
  @Field('string', { maxLength: 80, unique: true, column: 'the_name' }) declare name: string
  @Field(() => Line, { list: true, minItems: 1 }) lines!: Line[]
  @Field(() => [Line]) more!: Line[]
  @Field('numeric', { nullable: true }) price!: number | null
  @Field('integer') page = 3
  @Field('datetime', { default: 'now', readOnly: true }) at!: string
  @Field('string', { hidden: true, optional: true }) secret?: string
  @Field() note!: string
  @Field good!: boolean
  @Field() line!: Line
  get total(): number {
    return 1
  }
}
Field('numeric')(Order.prototype, 'total')

describe('readShape', () => {
  const shape = shapeOf(Order)
  const field = (name: string) => shape.byName.get(name)!

  it('describes the fields in the order of declaration, base first, the nearest class wins', () => {
    expect(shape.name).toBe('Order')
    expect(shape.fields.map(({ name }) => name).slice(0, 4)).toEqual([
      'id',
      'name',
      'lines',
      'more',
    ])
    expect(field('name').rules).toEqual({ maxLength: 80, unique: true, column: 'the_name' })
    expect(shape.key).toBe(field('id'))
  })

  it('returns the same frozen shape each time', () => {
    expect(shapeOf(Order)).toBe(shape)
    expect(
      Object.isFrozen(shape) && Object.isFrozen(shape.fields) && Object.isFrozen(field('id')),
    ).toBe(true)
  })

  it('stores a nested class as a thunk, with its list', () => {
    expect(field('lines').nested?.()).toBe(Line)
    expect(field('lines')).toMatchObject({ kind: 'json', list: true })
    expect(field('more')).toMatchObject({ list: true })
    expect(field('more').nested?.()).toBe(Line)
  })

  it('distinguishes optional and nullable', () => {
    expect(field('price')).toMatchObject({ optional: false, nullable: true })
    expect(field('secret')).toMatchObject({ optional: true, nullable: false, hidden: true })
    expect(field('at')).toMatchObject({ optional: true, readOnly: true })
  })

  it('treats an initial value as a default', () => {
    expect(field('page')).toMatchObject({ optional: true, rules: { default: 3 } })
  })

  it('takes the kind of a bare @Field from the emitted type where that is specific', () => {
    expect(field('note').kind).toBe('string')
    expect(field('good').kind).toBe('boolean')
    expect(field('line').nested?.()).toBe(Line)
  })

  it('treats a property with only a getter as read-only', () => {
    expect(field('total').readOnly).toBe(true)
  })

  it('makes the key of a record read-only', () => {
    class Row {
      @Field('id', { key: 'uuid' }) id!: string
    }
    generateKey(Row)
    expect(shapeOf(Row).key).toMatchObject({ readOnly: true, entry: { storage: 'text' } })
  })

  it("describes class-validator's rules with the options of @Field", () => {
    class Dto {
      @cv.IsInt() @cv.Min(1) @cv.Max(9) qty!: number
      @cv.IsOptional() @cv.IsEmail() @cv.MaxLength(80) mail?: string
      @cv.IsString({ each: true }) @cv.ArrayMaxSize(3) tags!: string[]
      @cv.IsIn(['a', 'b']) letter!: string
      @cv.Allow() free: unknown
      @cv.ValidateNested() line!: Line
    }
    const fields = Object.fromEntries(shapeOf(Dto).fields.map((one) => [one.name, one]))
    expect(fields.qty).toMatchObject({
      kind: 'integer',
      rules: { min: 1, max: 9 },
      optional: false,
      declared: undefined,
    })
    expect(fields.mail).toMatchObject({
      kind: 'string',
      rules: { format: 'email', maxLength: 80 },
      optional: true,
      nullable: true,
    })
    expect(fields.tags).toMatchObject({ kind: 'string', list: true, rules: { maxItems: 3 } })
    expect(fields.letter).toMatchObject({ kind: 'string', rules: { oneOf: ['a', 'b'] } })
    expect(fields.free).toMatchObject({ kind: 'json', optional: true })
    expect(fields.line?.nested?.()).toBe(Line)
    expect(fields.qty?.constraints.map(({ name }) => name).sort()).toEqual(['isInt', 'max', 'min'])
  })

  it('returns no fields for a class without declarations', () => {
    expect(shapeOf(class Nothing {}).fields).toEqual([])
  })
})
