import { describe, expect, it } from '@jest/globals'
import * as cv from 'class-validator'
import { Field, Page } from '../../src/index.js'
import { responseMapper } from './compiled.js'

class Line {
  @Field('integer') qty!: number
  @Field('string', { hidden: true }) cost!: string
}

class Order {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('string', { hidden: true }) secret!: string
  @Field('datetime', { readOnly: true }) at!: string
  @Field('blob', { optional: true }) photo?: Buffer
  @Field('blob', { optional: true, list: true }) photos?: Buffer[]
  @Field('json', { optional: true }) extra?: unknown
  @Field(() => Line, { list: true }) lines!: Line[]
  @Field(() => Line, { nullable: true }) line!: Line | null
}

const map = responseMapper(Order)
const full = {
  id: 1,
  name: 'a',
  secret: 's',
  at: '2026-01-01',
  rowid: 5,
  extra: { a: { secret: 1 } },
  lines: [{ qty: 1, cost: 'c', more: 1 }],
  line: { qty: 2, cost: 'c' },
}
const expected = {
  id: 1,
  name: 'a',
  at: '2026-01-01T00:00:00.000Z',
  extra: { a: { secret: 1 } },
  lines: [{ qty: 1 }],
  line: { qty: 2 },
}

describe('compileOutput', () => {
  it('returns only declared, visible fields, also in nested classes', () => {
    expect(map(full)).toEqual(expected)
    expect(JSON.parse(JSON.stringify(map(Object.assign(new Order(), full))))).toEqual(expected)
  })

  it('maps lists, declared or not', () => {
    expect(map([full, full])).toEqual([expected, expected])
    expect(map({ ...full, line: [full.line] })).toMatchObject({ line: [{ qty: 2 }] })
    expect(map({ ...full, lines: full.line })).toMatchObject({ lines: { qty: 2 } })
  })

  it.each([null, undefined, 5, 'text', true])('returns %p unchanged', (value) => {
    expect(map(value)).toBe(value)
    expect(map([value])).toEqual([value])
  })

  it('keeps nulls, and omits absent keys', () => {
    expect(JSON.stringify(map({ id: 1, line: null }))).toBe('{"id":1,"line":null}')
  })

  it('writes bytes as base64', () => {
    const photo = Buffer.from('hi')
    expect(map({ photo, photos: [photo, photo] })).toMatchObject({
      photo: 'aGk=',
      photos: ['aGk=', 'aGk='],
    })
    expect(map({ photo: new Uint8Array([104, 105]), photos: null })).toMatchObject({
      photo: 'aGk=',
      photos: null,
    })
  })

  it('never changes its input', () => {
    const input = structuredClone(full)
    map(input)
    expect(input).toEqual(full)
  })

  it('reads getters of a class', () => {
    class Priced {
      net = 100
      @Field('numeric') get gross(): number {
        return this.net * 1.19
      }
    }
    expect(JSON.stringify(responseMapper(Priced)(new Priced()))).toBe('{"gross":119}')
  })

  it('is not created for a field named like a member of Object.prototype', () => {
    class Priced {
      @Field('numeric') net = 100
    }
    Field('string', { optional: true })(Priced.prototype, 'constructor')
    expect(() => responseMapper(Priced)).toThrow(
      /Priced\.constructor: every object already has a property "constructor"\./,
    )
  })

  it('maps classes that only class-validator describes', () => {
    class Dto {
      @cv.IsString() name!: string
    }
    expect(responseMapper(Dto)({ name: 'a', other: 1 })).toEqual({ name: 'a' })
  })

  it('maps pages', () => {
    const page = { items: [full], total: 1, limit: 10, offset: 0, more: 1 }
    expect(responseMapper(Page.of(Order))(page)).toEqual({
      items: [expected],
      total: 1,
      limit: 10,
      offset: 0,
    })
  })

  it('refuses values that contain themselves', () => {
    class Tree {
      @Field(() => Tree, { list: true }) children!: Tree[]
    }
    const circle: { children: unknown[] } = { children: [] }
    circle.children.push(circle)
    expect(() => responseMapper(Tree)(circle)).toThrow(/nested deeper than 64 levels/)
  })
})
