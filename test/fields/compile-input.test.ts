import { describe, expect, it, jest } from '@jest/globals'
import * as cv from 'class-validator'
import { HttpError, Field, type FieldRules } from '../../src/index.js'
import type { KindName, Class } from '../public-types.js'
import { bodyCheck, shapeOf, generateKey, type InputOptions } from './compiled.js'

/** The result of a check: the instance, or `path code: message` of each violation. */
function answer(type: Class, value: unknown, options?: InputOptions): unknown {
  try {
    return bodyCheck(type, options)(value)
  } catch (error) {
    return violationsOf(error)
  }
}

function violationsOf(error: unknown): string[] {
  if (!(error instanceof HttpError)) throw error
  expect(error).toMatchObject({ status: 400, code: 'VALIDATION' })
  expect(error.message).toBe(error.errors?.map(({ message }) => message).join('; '))
  return (error.errors ?? []).map(({ path, code, message }) => `${path} ${code}: ${message}`)
}

/** A class of one field, `it`. */
function classOf(kind: KindName, rules: FieldRules = {}): Class {
  const type = class Single {}
  Field(kind, rules)(type.prototype, 'it')
  return type
}

class Line {
  @Field('integer', { min: 1 }) qty!: number
}

class Order {
  @Field('string', { maxLength: 5 }) name!: string
  @Field('numeric') price!: number
  @Field(() => Line, { list: true, optional: true, minItems: 1, maxItems: 2 }) lines?: Line[]
  @Field(() => Line, { nullable: true, optional: true }) line?: Line | null
  @Field('string', { hidden: true, optional: true }) secret?: string
  @Field('datetime', { readOnly: true, default: 'now' }) at!: string
}

describe('compileInput', () => {
  it('creates an instance of the class, nested classes included, with only the sent keys', () => {
    const order = answer(Order, { name: 'Lamp', price: 9, lines: [{ qty: 1 }], line: null })
    expect(order).toBeInstanceOf(Order)
    expect((order as Order).lines?.[0]).toBeInstanceOf(Line)
    expect(Object.keys(order as object)).toEqual(['name', 'price', 'lines', 'line'])
    expect(order).toEqual({ name: 'Lamp', price: 9, lines: [{ qty: 1 }], line: null })
  })

  it('returns without a promise', () => {
    expect(answer(Order, { name: 'Lamp', price: 9 })).not.toBeInstanceOf(Promise)
  })

  it('reports every violation by its path, together', () => {
    expect(
      answer(Order, { name: 'Lantern', lines: [{ qty: 0 }, { qty: '1' }, null], line: 5 }),
    ).toEqual([
      'name maxLength: name must have at most 5 characters',
      'price required: price is required',
      'lines maxItems: lines must have at most 2 items',
      'line type: line must be an object',
    ])
    expect(answer(Order, { name: 'a', price: 1, lines: [{ qty: 0 }, null] })).toEqual([
      'lines.0.qty min: lines.0.qty must be at least 1',
      'lines.1 type: lines.1 must be an object',
    ])
  })

  it('refuses unknown, hidden and read-only keys alike, and suggests a name', () => {
    expect(
      answer(Order, {
        name: 'a',
        price: 1,
        secret: 's',
        at: '2026-01-01',
        prize: 1,
        line: { qyt: 1, qty: 1 },
      }),
    ).toEqual([
      'line.qyt unknown: line.qyt is unknown. Did you mean "qty"?',
      'secret unknown: secret is unknown',
      'at unknown: at is unknown',
      'prize unknown: prize is unknown. Did you mean "price"?',
    ])
  })

  it('drops such keys where the option says so', () => {
    const input = { name: 'a', price: 1, secret: 's', at: 'x', prize: 1, line: { qyt: 1, qty: 1 } }
    expect(answer(Order, input, { unknownKeys: 'drop' })).toEqual({
      name: 'a',
      price: 1,
      line: { qty: 1 },
    })
  })

  it('lets the program set fields that a client cannot', () => {
    const input = { name: 'a', price: 1, secret: 's', at: '2026-01-01' }
    expect(answer(Order, input, { from: 'program' })).toEqual(input)
    expect(answer(Order, { name: 'a', price: 1 }, { from: 'program' })).toMatchObject({
      at: expect.any(String),
    })
  })

  it('refuses the key of a record, but accepts a key field of another class', () => {
    class Row extends Line {
      @Field('id') id!: number
    }
    expect(answer(Row, { id: 1, qty: 1 })).toEqual({ id: 1, qty: 1 })
    class Generated {
      @Field('id') id!: number
    }
    generateKey(Generated)
    expect(answer(Generated, { id: 1 })).toEqual(['id unknown: id is unknown'])
    expect(answer(Generated, {})).toEqual({})
  })

  it('accepts partial inputs for updates: absent keys are allowed, nulls and wrong values are not, no defaults', () => {
    class Item {
      @Field('string') name!: string
      @Field('integer', { default: 5 }) qty!: number
      @Field('integer') page = 1
      @Field(() => Line, { optional: true }) line?: Line
      @cv.IsInt() size!: number
    }
    expect(answer(Item, {}, { partial: true })).toEqual({})
    expect(Object.keys(answer(Item, { qty: 2 }, { partial: true }) as object)).toEqual(['qty'])
    expect(answer(Item, { name: null, size: 'x', line: {} }, { partial: true })).toEqual([
      'name type: name must not be null',
      'line.qty required: line.qty is required',
      'size isInt: size must be an integer number',
    ])
  })

  it('distinguishes optional and nullable', () => {
    class Both {
      @Field('string', { optional: true }) optional?: string
      @Field('string', { nullable: true }) nullable!: string | null
    }
    expect(answer(Both, { nullable: null })).toEqual({ nullable: null })
    expect(answer(Both, { optional: null })).toEqual([
      'optional type: optional must not be null',
      'nullable required: nullable is required',
    ])
  })

  it('uses defaults for absent keys, a new value each time', () => {
    let count = 0
    class Defaulted {
      @Field('string', { default: 'a' }) text!: string
      @Field('json', { default: { a: [] } }) json!: { a: number[] }
      @Field('integer', { default: () => ++count }) number!: number
      @Field('datetime', { default: 'now' }) at!: string
      @Field('integer') initial = 7
      @Field('string', { list: true }) tags: string[] = []
    }
    const first = answer(Defaulted, {}) as Defaulted
    const second = answer(Defaulted, {}) as Defaulted
    expect(first).toMatchObject({ text: 'a', json: { a: [] }, number: 1, initial: 7, tags: [] })
    expect(second.number).toBe(2)
    expect(first.json).not.toBe(second.json)
    expect(first.tags).not.toBe(second.tags)
    expect(Date.parse(first.at)).not.toBeNaN()
    expect(answer(Defaulted, { text: null })).toEqual(['text type: text must not be null'])
  })

  it('constructs a class that has private state, and leaves absent keys absent', () => {
    class Counter {
      #count = 1
      @Field('string', { optional: true }) name?: string
      @Field('string', { optional: true, hidden: true }) secret?: string
      next(): number {
        return ++this.#count
      }
    }
    const counter = answer(Counter, {}) as Counter
    expect(counter.next()).toBe(2)
    expect(Object.keys(counter)).toEqual([])
  })

  it('reads the declarations of a class, not its source text', () => {
    let constructed = 0
    class Spoken {
      @Field('string') name!: string
      static readonly createdCount = 1

      /** Its source text contains `private` and `constructor(`: none of it runs at the start. */
      label(this: Spoken): string {
        const text = '#private constructor('
        return `${text}${this.name}`
      }
    }
    class WithCounts {
      @Field('string') name!: string

      constructor() {
        constructed++
      }
    }
    expect((answer(Spoken, { name: 'a' }) as Spoken).label()).toBe('#private constructor(a')
    expect(Object.keys(answer(Spoken, { name: 'a' }) as object)).toEqual(['name'])
    shapeOf(WithCounts)
    bodyCheck(WithCounts)
    bodyCheck(WithCounts, { partial: true })
    expect(constructed).toBe(1)
  })

  it('does not construct a class whose constructor has parameters', () => {
    class Named {
      @Field('string') name: string
      constructor(name: string) {
        this.name = name.trim()
      }
    }
    expect(answer(Named, { name: ' a ' })).toEqual({ name: ' a ' })
    expect(answer(Named, { name: 'a' })).toBeInstanceOf(Named)
  })

  it('checks lists of the class', () => {
    const check = bodyCheck(Line, { list: true })
    expect(check([{ qty: 1 }, { qty: 2 }])).toEqual([{ qty: 1 }, { qty: 2 }])
    expect(answer(Line, [{ qty: 1 }, 5, { qty: 0 }], { list: true })).toEqual([
      '1 type: 1 must be an object',
      '2.qty min: 2.qty must be at least 1',
    ])
    expect(answer(Line, {}, { list: true })).toEqual([' type: the body must be a list'])
  })

  it('uses the given name for the input', () => {
    expect(answer(Line, null, { inputName: 'the line' })).toEqual([
      ' type: the line must be an object',
    ])
  })

  it('checks trees: a class that contains itself', () => {
    class Node {
      @Field('integer') n!: number
      @Field(() => Node, { list: true, optional: true }) children?: Node[]
    }
    const tree = answer(Node, { n: 1, children: [{ n: 2, children: [{ n: 3 }] }] }) as Node
    expect(tree.children?.[0]?.children?.[0]).toBeInstanceOf(Node)
    expect(answer(Node, { n: 1, children: [{ n: 2, children: [{}] }] })).toEqual([
      'children.0.children.0.n required: children.0.children.0.n is required',
    ])
  })

  it.each(['constructor', 'toString', 'hasOwnProperty'])(
    'is not created for a field named like a member of Object.prototype, and accepts no such key: %s',
    (name) => {
      const type = class Odd {}
      Field('string', { optional: true })(type.prototype, name)
      expect(() => answer(type, {})).toThrow(
        `Odd.${name}: every object already has a property "${name}".`,
      )
      const other = classOf('string', { optional: true })
      expect(answer(other, {})).toEqual({})
      expect(answer(other, { [name]: 'a' })).toEqual([`${name} unknown: ${name} is unknown`])
    },
  )
})

describe('the kinds and rules', () => {
  const wellFormed = 'c0ffee00-0000-4000-8000-000000000000'

  it.each<[KindName, FieldRules, unknown[], unknown[]]>([
    ['integer', {}, [0, -5, 2 ** 53 - 1], ['1', 1.5, 2 ** 53, NaN, true, [], {}]],
    ['integer', { min: 1, max: 3 }, [1, 3], [0, 4]],
    ['numeric', {}, [0, 1.5, -1e300], ['1', NaN, Infinity, true]],
    ['numeric', { oneOf: [1, 2] }, [1, 2], [3]],
    ['string', {}, ['', 'a', '😀'], [1, '\ud800', 'a\0b', [], {}, true]],
    [
      'string',
      { minLength: 2, maxLength: 3 },
      ['ab', '😀😀', '😀😀😀'],
      ['a', '😀', 'abcd', '😀😀😀😀'],
    ],
    ['string', { pattern: /^a+$/g }, ['a', 'aa'], ['b', '']],
    ['string', { pattern: /^a+$/i }, ['A'], ['b']],
    ['string', { pattern: '^[0-9]{2}$' }, ['12'], ['1']],
    ['string', { oneOf: ['a', 'b'] }, ['a'], ['c', '']],
    ['string', { format: 'email' }, ['a@b.co'], ['a', 'a@b', '@b.co', 'a b@c.de']],
    ['text', { maxLength: 3 }, ['abc'], ['abcd']],
    ['boolean', {}, [true, false], ['true', 0, 1, 'false']],
    ['id', {}, [1], ['1', 1.5]],
    ['id', { key: 'uuid' }, [wellFormed], [1, 'x', `${wellFormed}0`]],
    [
      'datetime',
      {},
      ['2026-11-20', '2026-11-20T10:00:00.000Z', '2026-11-20T10:00+02:00'],
      ['x', '2026-02-30', 5, '2026-11-20T24:00Z'],
    ],
    [
      'datetime',
      { min: '2026-01-01', max: '2026-12-31T23:00+00:00' },
      ['2026-06-01'],
      ['2025-12-31T23:59:59Z', '2027-01-01'],
    ],
    ['json', {}, [1, 'a', [], { a: [1, null] }, true], [NaN, () => 1, 1n, Symbol('a')]],
    ['blob', {}, ['', 'aGk='], ['aGk', '*', 5]],
    ['blob', { maxLength: 2, minLength: 1 }, ['aGk='], ['', 'aGV5']],
    [
      'integer',
      { list: true, min: 1, maxItems: 2, minItems: 1 },
      [[1], [1, 2]],
      [[], [1, 2, 3], [0], 1, [null], ['1']],
    ],
    ['string', { list: true, oneOf: ['a'] }, [[], ['a', 'a']], [['b'], 'a', { 0: 'a', length: 1 }]],
  ])('%s with %j', (kind, rules, right, wrong) => {
    const check = bodyCheck(classOf(kind, rules))
    for (const value of right) expect(check({ it: value })).toBeInstanceOf(Object)
    for (const value of [...wrong, null, undefined]) {
      expect(() => check({ it: value })).toThrow(HttpError)
    }
  })

  it.each<[KindName, unknown, unknown]>([
    ['integer', -0, 0],
    ['numeric', -0, 0],
    ['blob', 'aGk=', Buffer.from('hi')],
    ['blob', Buffer.from('hi'), Buffer.from('hi')],
    ['datetime', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['datetime', '2026-11-20T10:00+02:00', '2026-11-20T10:00+02:00'],
  ])('%s takes %p as %p', (kind, value, expected) => {
    expect(bodyCheck(classOf(kind))({ it: value })).toEqual({ it: expected })
  })

  it.each<[KindName, FieldRules, unknown, string]>([
    ['string', {}, 5, 'it type: it must be a string'],
    ['integer', {}, '5', 'it type: it must be an integer'],
    ['boolean', {}, 'false', 'it type: it must be true or false'],
    ['numeric', { min: 0 }, -1, 'it min: it must be at least 0'],
    ['numeric', { max: 0 }, 1, 'it max: it must be at most 0'],
    ['string', { minLength: 1 }, '', 'it minLength: it must have at least 1 character'],
    ['string', { pattern: /^a$/ }, 'b', 'it pattern: it must match ^a$'],
    ['string', { format: 'url' }, 'b', 'it format: it must be an http or https URL'],
    ['string', { oneOf: ['a', 'b'] }, 'c', 'it oneOf: it must be one of a, b'],
    ['string', { list: true }, [5], 'it.0 type: it.0 must be a string'],
    ['string', { list: true }, 'a', 'it type: it must be a list'],
  ])('%s with %j reports for %p: %s', (kind, rules, value, expected) => {
    expect(answer(classOf(kind, rules), { it: value })).toEqual([expected])
  })
})

describe('a default of now', () => {
  it('is the same timestamp for all fields of an object', () => {
    class Stamped {
      @Field('datetime', { default: 'now' }) createdAt!: string
      @Field('datetime', { default: 'now' }) updatedAt!: string
    }
    const clock = jest.spyOn(Date.prototype, 'toISOString')
    const stamped = bodyCheck(Stamped)({}) as Stamped
    expect(clock).toHaveBeenCalledTimes(1)
    expect(stamped.createdAt).toBe(stamped.updatedAt)
    clock.mockRestore()
  })
})
