/** Problems in the declarations of fields, found when the shape of a class is read. */
import { describe, expect, it } from '@jest/globals'
import * as cv from 'class-validator'
import { DeclarationError, Field, type FieldRules } from '../../src/index.js'
import type { Problem } from '../../src/errors/declaration-error.js'
import type { Class } from '../public-types.js'
import { bodyCheck, Problems, shapeOf } from './compiled.js'

class Line {
  @Field('integer', { min: 1 }) qty!: number
}

function problemsOf(type: Class): readonly Problem[] {
  const problems = new Problems()
  shapeOf(type, problems)
  return problems.list
}

describe('the problems of a declaration', () => {
  const lame = (rules: object): FieldRules => rules

  it('are errors of the compiler where messages name no rule, or take another operand', () => {
    const wrong: FieldRules[] = [
      // @ts-expect-error a misspelt rule
      { pattern: 'a', messages: { pattrn: 'No.' } },
      // @ts-expect-error the operand of min is no list
      { min: 1, messages: { min: (min: string[]) => min[0] ?? '' } },
    ]
    expect(wrong).toHaveLength(2)
  })

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
    @Field('string', { messages: { pattern: 'No.' } }) p!: string
    @Field('string', lame({ pattern: 'a', messages: { pattrn: 'No.' } })) q!: string
    @Field('string', { optional: true, messages: { required: 'No.' } }) r?: string
    @Field('integer', { min: 1, messages: { min: () => '' } }) s!: number
    @Field('integer', lame({ messages: 'No.' })) t!: number
    @Field('string', { oneOf: ['new', 'done'], labels: { nwe: 'Not started' } }) u!: string
    @Field('string', { labels: { new: 'Not started' } }) v!: string
    @Field('string', lame({ oneOf: ['new'], labels: { new: 5 } })) w!: string
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
    ['p', 'FIELD_RULE_UNKNOWN', 'messages: the field has no rule "pattern".', 'required, type.'],
    ['q', 'FIELD_RULE_UNKNOWN', 'has no rule "pattrn".', 'Did you mean "pattern"?'],
    ['r', 'FIELD_RULE_UNKNOWN', 'has no rule "required".', 'Its rules: type.'],
    ['s', 'FIELD_RULE_VALUE', 'messages: "min" needs a text', '(min) =>'],
    ['t', 'FIELD_RULE_VALUE', 'rule "messages" needs texts or functions by rule.', ''],
    ['u', 'FIELD_RULE_VALUE', 'labels: "nwe" is not a value of oneOf.', 'Did you mean "new"?'],
    ['v', 'FIELD_RULE_UNFIT', 'rule "labels" does not apply to kind "string".', ''],
    ['w', 'FIELD_RULE_VALUE', 'rule "labels" needs texts by value.', ''],
  ])('name class and field: Faulty.%s is %s', (name, code, message, remedy) => {
    const problem = problems.find((one) => one.message.startsWith(`Faulty.${name}: `))!
    expect(problem.code).toBe(code)
    expect(problem.message).toContain(message)
    expect(problem.remedy).toContain(remedy)
  })

  it('are reported once each, however often the class is read', () => {
    const collected = new Problems()
    shapeOf(Faulty, collected)
    expect(collected.count).toBe(23)
    shapeOf(Faulty, collected)
    expect(collected.count).toBe(23)
  })

  it('are thrown together where no collector is given', () => {
    expect(() => shapeOf(Faulty)).toThrow(DeclarationError)
    expect(() => shapeOf(Faulty)).toThrow(/23 problems/)
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
    const all = new Problems()
    bodyCheck(Outer, { problems: all })
    expect(all.list.map(({ code }) => code)).toEqual(['FIELD_TYPE_MISSING', 'FIELD_THUNK'])
    expect(() => bodyCheck(Outer)).toThrow(/Inner\.when: .*\n.*Outer\.held: /)
  })

  it('are thrown immediately where @Field decorates a method or a static property', () => {
    const place = (isStatic: boolean) => () => {
      class Odd {}
      const target: object = isStatic ? Odd : Odd.prototype
      Field('string')(target, 'name', isStatic ? undefined : { value: () => 1 })
    }
    expect(place(true)).toThrow('Odd: @Field can only be used on an instance property.')
    expect(place(false)).toThrow('Odd: @Field can only be used on an instance property.')
  })
})
