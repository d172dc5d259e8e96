import { describe, expect, it } from '@jest/globals'
import * as cv from 'class-validator'
import { DeclarationError, Field, omit, Page, partial, pick } from '../../src/index.js'
import type { Class } from '../public-types.js'
import { bodyCheck, Problems, shapeOf, generateKey } from './compiled.js'

class Item {
  @Field('id') id!: number
  @Field('string', { maxLength: 5, description: 'The name' }) name!: string
  @Field('numeric', { min: 0, default: 1 }) price!: number
  @Field('integer') stock = 4
  @Field() note!: string
  @cv.IsEmail() @cv.MaxLength(20) mail!: string
  @cv.IsOptional() @cv.IsInt() size?: number
  shout(): string {
    return this.name.toUpperCase()
  }
}

const namesOf = (type: new () => object): string[] => shapeOf(type).fields.map(({ name }) => name)

describe('pick', () => {
  class Short extends pick(Item, 'name', 'mail', 'stock') {}

  it('keeps the named fields with rules, documentation and class-validator decorators', () => {
    expect(namesOf(Short)).toEqual(['name', 'stock', 'mail'])
    expect(shapeOf(Short).byName.get('name')?.rules.description).toBe('The name')
    expect(() => bodyCheck(Short)({ name: 'Lantern', mail: 'x' })).toThrow(
      'name must have at most 5 characters; mail must be an email',
    )
  })

  it('keeps initial values, creates instances of its own class, and omits methods', () => {
    const short = bodyCheck(Short)({ name: 'Lamp', mail: 'a@b.co' }) as Short
    expect(short).toBeInstanceOf(Short)
    expect(short).toEqual({ name: 'Lamp', mail: 'a@b.co', stock: 4 })
    expect('shout' in short).toBe(false)
  })

  it('works with class-validator itself', () => {
    const errors = cv.validateSync(Object.assign(new Short(), { mail: 'x' }))
    expect(
      errors.map(({ property, constraints }) => [property, Object.keys(constraints ?? {})]),
    ).toEqual([['mail', ['isEmail']]])
  })

  it('has its own name, and accepts more fields', () => {
    expect(pick(Item, 'name', 'price').name).toBe('ItemNamePrice')
    class More extends pick(Item, 'name') {
      @Field('boolean') open!: boolean
      @cv.IsInt() count!: number
    }
    expect(namesOf(More)).toEqual(['name', 'open', 'count'])
  })

  it('keeps the emitted types', () => {
    expect(shapeOf(pick(Item, 'note')).byName.get('note')?.kind).toBe('string')
  })

  it('refuses a name that is not a field', () => {
    expect(() => pick(Item, 'shout')).toThrow(
      'pick(Item): "shout" is not one of its fields. Fields: id, name,',
    )
  })
})

describe('omit', () => {
  it('keeps all fields except the named ones', () => {
    expect(namesOf(omit(Item, 'id', 'mail'))).toEqual(['name', 'price', 'stock', 'note', 'size'])
    expect(omit(Item, 'id').name).toBe('ItemWithoutId')
    expect(() => omit(Item, 'shout')).toThrow('omit(Item): "shout" is not one of its fields')
  })
})

describe('partial', () => {
  const Changes = partial(Item)
  const check = bodyCheck(Changes)

  it('allows every key to be absent, without defaults', () => {
    expect(Changes.name).toBe('PartialItem')
    expect(Object.keys(check({}))).toEqual([])
    expect(check({ price: 2 })).toEqual({ price: 2 })
  })

  it('allows null only where it was allowed', () => {
    expect(() => check({ name: null, mail: null })).toThrow('name must not be null; mail must be')
    expect(check({ size: null })).toEqual({ size: null })
  })

  it('keeps the rules for sent values', () => {
    expect(() => check({ name: 'Lantern', mail: 'x', price: -1 })).toThrow(
      'name must have at most 5 characters; price must be at least 0; mail must be an email',
    )
  })

  it('works with class-validator itself', () => {
    expect(cv.validateSync(new Changes())).toEqual([])
    expect(cv.validateSync(Object.assign(new Changes(), { mail: null }))).toHaveLength(1)
  })

  it('of a record keeps its key from clients', () => {
    class Row {
      @Field('id') id!: number
    }
    generateKey(Row)
    expect(() => bodyCheck(partial(Row))({ id: 5 })).toThrow('id is unknown')
  })
})

it('reports the problems of its fields once, for the class that declares them', () => {
  class Lamp {
    @Field('string', { maxLenght: 5 } as object) name!: string
  }
  class Changes extends partial(omit(Lamp)) {
    @Field('string', { minn: 5 } as object) reason!: string
  }
  const found = new Problems()
  const types: Class[] = [Lamp, partial(Lamp), pick(Lamp, 'name'), Changes]
  for (const type of types) shapeOf(type, found)
  expect(new DeclarationError(found.list).problems.map(({ message }) => message)).toEqual([
    'Lamp.name: unknown rule "maxLenght".',
    'Changes.reason: unknown rule "minn".',
  ])
})

describe('the types of derived classes', () => {
  it('are the types of the fields', () => {
    const short: { name: string; price: number } = new (pick(Item, 'name', 'price'))()
    const without: Omit<Item, 'id'> = new (omit(Item, 'id'))()
    const changes: { name?: string } = new (partial(Item))()
    // @ts-expect-error -- the field was not picked
    expect(short.mail).toBeUndefined()
    expect([without.name, changes.name]).toEqual([undefined, undefined])
  })
})

describe('Page', () => {
  it('is one class per item class, with its own name', () => {
    expect(Page.of(Item)).toBe(Page.of(Item))
    expect(Page.of(Item).name).toBe('ItemPage')
    expect(namesOf(Page.of(Item))).toEqual(['items', 'total', 'limit', 'offset'])
    expect(shapeOf(Page.of(Item)).byName.get('items')?.nested?.()).toBe(Item)
  })
})
