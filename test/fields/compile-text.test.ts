import { describe, expect, it } from '@jest/globals'
import * as cv from 'class-validator'
import { HttpError, Field } from '../../src/index.js'
import type { KindName, Class } from '../public-types.js'
import { textCheck, type InputOptions } from './compiled.js'

function check(type: Class, value: unknown, options?: InputOptions): unknown {
  try {
    return textCheck(type, options)(value)
  } catch (error) {
    if (!(error instanceof HttpError)) throw error
    expect(error).toMatchObject({ status: 400, code: 'VALIDATION' })
    return (error.errors ?? []).map(({ path, code, message }) => `${path} ${code}: ${message}`)
  }
}

class Point {
  @Field('integer') x!: number
}

class Query {
  @Field('integer', { default: 10, min: 1, max: 100 }) limit!: number
  @Field('string', { list: true, optional: true }) tag?: string[]
  @Field('integer', { list: true, optional: true }) ids?: number[]
  @Field('boolean', { optional: true }) open?: boolean
  @Field('json', { optional: true }) filter?: unknown
  @Field(() => Point, { optional: true }) point?: Point
  @Field(() => Point, { optional: true, list: true }) points?: Point[]
}

function classOf(kind: KindName): Class {
  const type = class Single {}
  Field(kind)(type.prototype, 'it')
  return type
}

describe('compileText', () => {
  it.each<[KindName, [string, unknown][], string[]]>([
    [
      'boolean',
      [
        ['true', true],
        ['1', true],
        ['false', false],
        ['0', false],
      ],
      ['', 'True', 'yes', 'on', '2', 'null', ' true'],
    ],
    [
      'integer',
      [
        ['0', 0],
        ['-5', -5],
        ['-0', 0],
        ['007', 7],
        ['9007199254740991', 2 ** 53 - 1],
      ],
      ['', '1.0', '1e3', '+1', ' 1', '0x1', '9007199254740992', '--1', '-'],
    ],
    [
      'numeric',
      [
        ['0', 0],
        ['1.5', 1.5],
        ['.5', 0.5],
        ['-.5', -0.5],
        ['-0', 0],
      ],
      ['', '5.', '1e3', 'NaN', 'Infinity', '+1', '1,5', '.', '-'],
    ],
    ['id', [['7', 7]], ['7.5', 'x', '']],
    [
      'string',
      [
        ['', ''],
        ['5', '5'],
        ['true', 'true'],
      ],
      ['a\0', '\ud800'],
    ],
    [
      'datetime',
      [
        ['2026-11-20', '2026-11-20'],
        ['2026-11-20T10:00:00Z', '2026-11-20T10:00:00Z'],
      ],
      ['', 'yesterday', '20.11.2026', '2026-13-01', '1700000000'],
    ],
    [
      'json',
      [
        ['{"a":[1]}', { a: [1] }],
        ['5', 5],
      ],
      ['', '{', 'null', '{"__proto__":{}}'],
    ],
    ['blob', [['aGk=', Buffer.from('hi')]], ['aGk', '*']],
  ])('reads %s by its strict grammar', (kind, right, wrong) => {
    const type = classOf(kind)
    for (const [text, value] of right) expect(check(type, { it: text })).toEqual({ it: value })
    for (const text of wrong) {
      expect(check(type, { it: text })).toEqual([
        expect.stringMatching(/^it type: it must (not )?be /),
      ])
    }
  })

  it('creates an instance, with defaults, from the result of a query parser', () => {
    const bare = Object.assign(Object.create(null) as object, {
      tag: 'a',
      ids: ['1', '2'],
      open: 'false',
    })
    const query = check(Query, bare)
    expect(query).toBeInstanceOf(Query)
    expect(query).toEqual({ limit: 10, tag: ['a'], ids: [1, 2], open: false })
  })

  it('reads a list of a class from repeated values and from JSON lists', () => {
    const lists = ['[{"x":1},{"x":2}]', ['{"x":1}', '{"x":2}'], ['[{"x":1}]', '{"x":2}']]
    for (const points of lists)
      expect(check(Query, { points })).toMatchObject({ points: [{ x: 1 }, { x: 2 }] })
    expect(check(Query, { points: '[]' })).toMatchObject({ points: [] })
    expect(check(Query, { points: '[{"x":1},{"x":"a"}]' })).toEqual([
      'points.1.x type: points.1.x must be an integer',
    ])
  })

  it.each([
    [{ 'point[x]': '1' }, 'point[x]', 'Write point as JSON: {"…": …}'],
    [
      { 'points[0][x]': '1', 'points[1][x]': '2' },
      'points[1][x]',
      'Write points as JSON: [{"…": …}]',
    ],
    [{ 'tag[]': ['a', 'b'] }, 'tag[]', 'Repeat the name for each value: tag=…&tag=…'],
    [{ 'ids[0]': '1' }, 'ids[0]', 'Repeat the name for each value: ids=…&ids=…'],
  ])('says how to write %j', (query, path, form) => {
    expect(check(Query, query)).toEqual([`${path} unknown: ${path} is unknown. ${form}`])
  })

  it('does not report a required field as missing beside its name in brackets', () => {
    class Order {
      @Field(() => Point) point!: Point
    }
    expect(check(Order, { 'point[x]': '1' })).toHaveLength(1)
    expect(check(Order, { 'pont[x]': '1' })).toHaveLength(2)
    expect(check(Order, { point: '{"x":1}', 'pont[x]': '1' }, { unknownKeys: 'drop' })).toEqual(
      Object.assign(new Order(), { point: Object.assign(new Point(), { x: 1 }) }),
    )
  })

  it('reads nested classes from JSON', () => {
    expect(check(Query, { point: '{"x":1}', points: ['{"x":1}', '{"x":2}'] })).toEqual({
      limit: 10,
      point: { x: 1 },
      points: [{ x: 1 }, { x: 2 }],
    })
    expect(check(Query, { point: '{"x":"1"}' })).toEqual([
      'point.x type: point.x must be an integer',
    ])
    expect(check(Query, { point: 'x=1' })).toEqual([
      'point type: point must be an object, written as JSON',
    ])
  })

  it('reports a violation once, by its path, with all others', () => {
    expect(check(Query, { limit: 'ten', ids: ['1', 'x'], open: 'maybe', lim: '1' })).toEqual([
      'limit type: limit must be an integer',
      'ids.1 type: ids.1 must be an integer',
      'open type: open must be true or false',
      'lim unknown: lim is unknown. Did you mean "limit"?',
    ])
    expect(check(Query, { limit: '0' })).toEqual(['limit min: limit must be at least 1'])
  })

  it('refuses a repeated name where no list is declared', () => {
    expect(check(Query, { limit: ['1', '2'] })).toEqual(['limit type: limit must be given once'])
  })

  it('calls its input the query by default', () => {
    expect(check(Query, 'text')).toEqual([' type: the query must be an object'])
    expect(check(Query, 'text', { inputName: 'the form' })).toEqual([
      ' type: the form must be an object',
    ])
  })

  it('drops unknown names where the option says so', () => {
    expect(check(Query, { other: '1' }, { unknownKeys: 'drop' })).toEqual({ limit: 10 })
  })

  it("uses class-validator's rules and the emitted type where only they describe the field", async () => {
    class Dto {
      @cv.IsOptional() @cv.IsInt() @cv.Min(1) page?: number
      @cv.IsOptional() @cv.IsBoolean() open?: boolean
      @cv.IsOptional() @cv.IsDate() since?: Date
      @cv.IsOptional() size?: number
      @cv.IsOptional() @cv.IsIn(['a', 'b'], { each: true }) letters?: string[]
      @cv.IsOptional() @cv.IsString() text?: string
      @cv.IsOptional() free?: unknown
    }
    const input = {
      page: '2',
      open: '0',
      since: '2026-11-20',
      size: '1.5',
      letters: 'a',
      text: '5',
      free: 'x',
    }
    expect(check(Dto, input)).toEqual({
      page: 2,
      open: false,
      since: new Date('2026-11-20'),
      size: 1.5,
      letters: ['a'],
      text: '5',
      free: 'x',
    })
    expect(
      check(Dto, { page: '0', open: 'no', size: 'big', letters: ['a', 'c'], text: ['a', 'b'] }),
    ).toEqual([
      'page min: page must not be less than 1',
      'open type: open must be true or false',
      'size type: size must be a number',
      'letters isIn: each value in letters must be one of the following values: a, b',
      'text isString: text must be a string',
    ])
  })
})
