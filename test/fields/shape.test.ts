import { describe, expect, it } from '@jest/globals'
import * as cv from 'class-validator'
import { DeclarationError, type Problem, Field, type FieldRules } from '../../src/index.js'
import type { Class } from '../public-types.js'
import { bodyCheck, generateKey, shapeOf } from './compiled.js'

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

function problemsOf(type: Class): Problem[] {
  const problems: Problem[] = []
  shapeOf(type, problems)
  return problems
}

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

describe('the problems of a declaration', () => {
  const lame = (rules: object): FieldRules => rules

  class Faulty {
    @Field('nummeric' as 'numeric') a!: number
    @Field('string', lame({ maxLenght: 3 })) b!: string
    @Field('boolean', { min: 3 }) c!: boolean
    @Field('string', lame({ maxLength: -1 })) d!: string
    @Field() e!: number
    @Field() f!: Date
    @Field() g!: string[]
    @Field() h!: unknown
    @Field('string', lame({ format: 'mail' })) i!: string
    @Field('integer', { minItems: 1 }) j!: number
    @Field('string', lame({ pattern: '(' })) k!: string
    @cv.ValidateNested() l!: Line[]
    @Field('integer', { default: 'x' }) m!: number
    @Field('string', { default: 'a', list: true }) n!: string[]
    @Field('string', { default: null }) o!: string
  }
  const problems = problemsOf(Faulty)

  it.each([
    ['a', 'FIELD_KIND_UNKNOWN', 'unknown kind "nummeric".', 'Did you mean "numeric"?'],
    ['b', 'FIELD_RULE_UNKNOWN', 'unknown rule "maxLenght".', 'Did you mean "maxLength"?'],
    ['c', 'FIELD_RULE_UNFIT', 'rule "min" does not apply to kind "boolean".', 'oneOf'],
    ['d', 'FIELD_RULE_VALUE', 'rule "maxLength" needs a whole number from 0.', ''],
    [
      'e',
      'FIELD_TYPE_MISSING',
      '@Field() cannot distinguish integers',
      "@Field('integer') or @Field('numeric')",
    ],
    ['f', 'FIELD_TYPE_MISSING', 'cannot be a Date', "@Field('datetime')"],
    ['g', 'FIELD_TYPE_MISSING', 'the type of the list items', '{ list: true }'],
    [
      'h',
      'FIELD_TYPE_MISSING',
      'has no kind, and its type does not determine one',
      "@Field('json')",
    ],
    ['i', 'FIELD_RULE_VALUE', 'rule "format" needs a format.', 'Did you mean "email"?'],
    ['j', 'FIELD_RULE_UNFIT', 'rule "minItems" does not apply to kind "integer"', ''],
    ['k', 'FIELD_RULE_VALUE', 'rule "pattern" needs a regular expression.', ''],
    [
      'l',
      'FIELD_TYPE_MISSING',
      '@ValidateNested() needs the class',
      '@Field(() => Line, { list: true })',
    ],
    ['m', 'FIELD_DEFAULT', 'default "x" is not an integer.', 'Correct it.'],
    ['n', 'FIELD_DEFAULT', 'default "a" is not a list, each a string.', ''],
    ['o', 'FIELD_DEFAULT', 'default null is not a string.', ''],
  ])('name class and field: Faulty.%s is %s', (name, code, message, remedy) => {
    const problem = problems.find((one) => one.message.startsWith(`Faulty.${name}: `))!
    expect(problem.code).toBe(code)
    expect(problem.message).toContain(message)
    expect(problem.remedy).toContain(remedy)
  })

  it('are reported once each, however often the class is read', () => {
    expect(problems).toHaveLength(15)
    shapeOf(Faulty, problems)
    expect(problems).toHaveLength(15)
  })

  it('are thrown together where no collector is given', () => {
    expect(() => shapeOf(Faulty)).toThrow(DeclarationError)
    expect(() => shapeOf(Faulty)).toThrow(/15 problems/)
  })

  it('suggest the explicit form where the compiler emits no types', () => {
    class Plain {}
    Field()(Plain.prototype, 'name')
    expect(problemsOf(Plain)).toEqual([
      {
        code: 'FIELD_TYPE_MISSING',
        message: 'Plain.name: @Field() has no kind, and this compiler emits no types.',
        remedy: "Write the kind: @Field('string').",
      },
    ])
  })

  it('come from a thunk only when the class is needed', () => {
    class Holder {
      @Field((() => undefined) as unknown as () => Class) held!: unknown
    }
    expect(problemsOf(Holder)).toEqual([])
    expect(() => shapeOf(Holder).fields[0]?.nested?.()).toThrow(
      /Holder\.held: its thunk names no class/,
    )
  })

  it('of nested classes are added while the check is compiled', () => {
    class Inner {
      @Field() when!: Date
    }
    class Outer {
      @Field(() => Inner) inner!: Inner
      @Field((() => undefined) as unknown as () => Class) held!: unknown
    }
    const all: Problem[] = []
    bodyCheck(Outer, { problems: all })
    expect(all.map(({ code }) => code)).toEqual(['FIELD_TYPE_MISSING', 'FIELD_THUNK'])
    expect(() => bodyCheck(Outer)).toThrow(/Inner\.when: .*\n.*Outer\.held: /)
  })

  it('are thrown immediately where @Field decorates a method or a static property', () => {
    const place = (isStatic: boolean) => () => {
      class Odd {}
      Field('string')(
        isStatic ? Odd : Odd.prototype,
        'name',
        isStatic ? undefined : { value: () => 1 },
      )
    }
    expect(place(true)).toThrow('Odd: @Field can only be used on an instance property.')
    expect(place(false)).toThrow('Odd: @Field can only be used on an instance property.')
  })
})
