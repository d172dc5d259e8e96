/** Malicious input is refused with 400 or accepted by a rule, quickly, and never causes another error. */
import { describe, expect, it } from '@jest/globals'
import * as cv from 'class-validator'
import fc from 'fast-check'
import { HttpError, Field } from '../../src/index.js'
import { rounds, seed } from '../random.js'
import type { Class } from '../public-types.js'
import { bodyCheck, textCheck, shapeOf, formatNames, kindNames, matchesFormat } from './compiled.js'

class Tree {
  @Field('integer', { optional: true }) n?: number
  @Field(() => Tree, { optional: true }) child?: Tree
  @Field(() => Tree, { optional: true, list: true }) children?: Tree[]
}

class Everything {
  @Field('id', { optional: true }) id?: number
  @Field('integer', { optional: true, min: 0 }) integer?: number
  @Field('numeric', { optional: true, max: 1e9 }) numeric?: number
  @Field('string', { optional: true, maxLength: 10, pattern: /^\w*$/ }) string?: string
  @Field('text', { optional: true, format: 'email' }) text?: string
  @Field('boolean', { optional: true }) boolean?: boolean
  @Field('datetime', { optional: true }) datetime?: string
  @Field('blob', { optional: true }) blob?: Buffer
  @Field('json', { optional: true }) json?: unknown
  @Field('integer', { optional: true, list: true }) list?: number[]
  @Field(() => Tree, { optional: true }) tree?: Tree
  @Field(() => Tree, { optional: true, list: true }) trees?: Tree[]
  @cv.IsOptional() @cv.IsInt() @cv.Max(5) validated?: number
  @cv.IsOptional() @cv.IsEmail() mail?: string
  @cv.IsOptional() @cv.IsString({ each: true }) @cv.MaxLength(3, { each: true }) tags?: string[]
  @cv.IsOptional() @cv.IsNumber({ maxDecimalPlaces: 2 }) price?: number
  @cv.IsOptional() @cv.IsNotEmptyObject() object?: object
  @cv.IsOptional()
  @cv.ValidateNested()
  @cv.IsObject()
  @Field(() => Tree, { optional: true })
  twin?: Tree
}

const names = shapeOf(Everything).fields.map(({ name }) => name)

/** The codes of the violations, or `accepted`. Any error except a 400 fails the test. */
function check(type: Class, value: unknown): string[] | 'accepted' {
  try {
    void bodyCheck(type)(value)
    return 'accepted'
  } catch (error) {
    if (!(error instanceof HttpError) || error.status !== 400) throw error
    expect(error.errors?.length).toBeGreaterThan(0)
    expect(error.errors?.length).toBeLessThanOrEqual(50)
    return (error.errors ?? []).map(({ code }) => code)
  }
}

function nest(levels: number, key: string, inner: unknown = {}): unknown {
  let value = inner
  for (let level = 0; level < levels; level++) value = { [key]: value }
  return value
}

describe('deep input', () => {
  it('10,000 levels of a class that contains itself are refused', () => {
    expect(check(Tree, nest(10_000, 'child'))).toEqual(['depth'])
    expect(check(Tree, nest(60, 'child'))).toBe('accepted')
  })

  it('10,000 levels in a json field, of lists and in a nested rule are refused', () => {
    expect(check(Everything, { json: nest(10_000, 'a') })).toEqual(['type'])
    let list: unknown = []
    for (let level = 0; level < 10_000; level++) list = [list]
    expect(check(Everything, { json: list })).toEqual(['type'])
    class Loose {
      @cv.ValidateNested() child!: Tree
    }
    expect(check(Loose, { child: list })).toEqual(['depth'])
    expect(check(Loose, { child: nest(10_000, 'child') })).toEqual(['depth'])
  })

  it('an object that contains itself is refused', () => {
    const circle: Record<string, unknown> = {}
    circle.child = circle
    expect(check(Tree, circle)).toEqual(['depth'])
    const json: Record<string, unknown> = {}
    json.a = json
    expect(check(Everything, { json })).toEqual(['type'])
  })
})

describe('long input', () => {
  it('a list of a million wrong items is refused with the first 50 violations', () => {
    expect(check(Everything, { list: new Array(1_000_000).fill('x') })).toEqual(
      new Array(50).fill('type'),
    )
    expect(check(Everything, { trees: new Array(1_000_000).fill(5) })).toHaveLength(50)
    expect(check(Everything, { tags: new Array(1_000_000).fill(5) })).toEqual([
      'maxLength',
      'isString',
    ])
  })

  it('a list of a million valid items is accepted', () => {
    expect(check(Everything, { list: new Array(1_000_000).fill(1) })).toBe('accepted')
  })

  it('a sparse list of four thousand million is refused without counting', () => {
    expect(check(Everything, { list: new Array(2 ** 32 - 1) })).toHaveLength(50)
  })

  it('the uniqueness of 100,000 different items is checked in one pass', () => {
    class Set {
      @cv.ArrayUnique() it!: unknown[]
      @cv.ArrayUnique((item: { a: number }) => item.a) by!: unknown[]
    }
    const it = Array.from({ length: 100_000 }, (_, index) => index)
    expect(check(Set, { it, by: [{ a: 1 }, { a: 2 }] })).toBe('accepted')
    expect(check(Set, { it: [...it, 5], by: [{ a: 1 }, { a: 1 }] })).toEqual([
      'arrayUnique',
      'arrayUnique',
    ])
  })

  it('100,000 unknown keys are refused with 50 violations', () => {
    const keys = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, 1]))
    expect(check(Everything, keys)).toEqual(new Array(50).fill('unknown'))
  })

  it('a megabyte of a key or a value is not sent back', () => {
    const long = 'x'.repeat(2 ** 20)
    class Strict {
      @cv.IsInt({ message: '$value is not a number' }) n!: number
    }
    const inputs: [Class, unknown][] = [
      [Everything, { [long]: 1 }],
      [Strict, { n: long }],
    ]
    for (const [type, value] of inputs) {
      try {
        void bodyCheck(type)(value)
        throw new Error('accepted')
      } catch (error) {
        expect((error as HttpError).message.length).toBeLessThan(300)
      }
    }
  })

  const megabyte = 2 ** 20
  const long = [
    'a',
    '1',
    '-',
    '.',
    ':',
    ' ',
    '@',
    'a@',
    'a.',
    '1-',
    'http://',
    '/',
    '%',
    '\\',
    '"',
    '😀',
    '\ud800',
    'aA0+',
  ]

  it.each(formatNames)(
    'a megabyte of text against the format %s is refused immediately',
    (format) => {
      for (const part of long) {
        const text = part.repeat(Math.ceil(megabyte / part.length))
        expect(matchesFormat(format, text)).toBe(false)
        expect(matchesFormat(format, `a@${text}`)).toBe(false)
        expect(matchesFormat(format, `http://a.b/${text}`)).toBe(false)
      }
    },
  )

  it.each(kindNames)('a megabyte of text is read by the kind %s immediately', (kind) => {
    class Text {
      it: unknown
    }
    Field(kind, kind === 'enum' ? { oneOf: ['a'] } : {})(Text.prototype, 'it')
    for (const part of long) {
      const check = textCheck(Text)
      try {
        void check({ it: part.repeat(megabyte / part.length) })
      } catch (error) {
        expect(error).toMatchObject({ status: 400 })
      }
    }
  })

  it.each([
    ['IsEmail', cv.IsEmail()],
    ['IsUrl', cv.IsUrl()],
    ['IsUUID', cv.IsUUID()],
    ['IsDateString', cv.IsDateString()],
    ['IsNumberString', cv.IsNumberString()],
    ['IsAlpha', cv.IsAlpha()],
    ['IsHexColor', cv.IsHexColor()],
    ['IsFQDN', cv.IsFQDN()],
    ['IsJSON', cv.IsJSON()],
    ['MaxLength', cv.MaxLength(10)],
  ])(
    'a megabyte of text against %s of class-validator is refused or accepted immediately',
    (_name, decorate) => {
      class Text {
        it: unknown
      }
      decorate(Text.prototype, 'it')
      for (const part of long) {
        const outcome = check(Text, { it: part.repeat(megabyte / part.length) })
        expect(outcome === 'accepted' || outcome.length === 1).toBe(true)
      }
    },
  )
})

describe('odd input', () => {
  it.each([null, undefined, 5, 'text', true, [], [{}], () => 1, Symbol('a'), 1n, NaN])(
    '%p as the complete input is refused',
    (value) => {
      expect(check(Everything, value)).toEqual(['type'])
    },
  )

  it('null for every field is refused field by field, and accepted where a rule allows it', () => {
    const nulls = Object.fromEntries(names.map((name) => [name, null]))
    const allowed = new Set(['validated', 'mail', 'tags', 'price', 'object', 'twin'])
    expect(check(Everything, nulls)).toEqual(
      names.filter((name) => !allowed.has(name)).map(() => 'type'),
    )
  })

  it('prototype keys are unknown keys, and change no prototype', () => {
    expect(check(Everything, JSON.parse('{"__proto__":{"polluted":1}}'))).toEqual(['unknown'])
    expect(check(Everything, { constructor: { prototype: { polluted: 1 } } })).toEqual(['unknown'])
    expect(check(Everything, { json: JSON.parse('{"a":{"__proto__":{"polluted":1}}}') })).toEqual([
      'type',
    ])
    expect(check(Everything, { object: JSON.parse('{"hasOwnProperty":1}') })).toBe('accepted')
    const dropping = bodyCheck(Everything, { unknownKeys: 'drop' })
    const built = dropping(JSON.parse('{"__proto__":{"polluted":1},"integer":1}'))
    expect(Object.getPrototypeOf(built)).toBe(Everything.prototype)
    expect((built as { polluted?: number }).polluted).toBeUndefined()
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })

  it('an object without a prototype is accepted', () => {
    const bare = Object.assign(Object.create(null) as object, { integer: 1 })
    expect(check(Everything, bare)).toBe('accepted')
  })

  it('a getter is read once, and one that throws makes the input unreadable', () => {
    let reads = 0
    const changing = {
      get integer(): unknown {
        reads++
        return reads === 1 ? 5 : 'changed'
      },
    }
    expect(bodyCheck(Everything)(changing)).toEqual({ integer: 5 })
    expect(reads).toBe(1)
    const throwing = {
      get integer(): number {
        throw new Error('from a getter')
      },
    }
    expect(check(Everything, throwing)).toEqual(['type'])
    const proxy = new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error('from a proxy')
        },
      },
    )
    expect(check(Everything, proxy)).toEqual(['type'])
  })

  it('an error thrown by a class of the application is a server error', () => {
    class Broken {
      @Field('string', {
        default: () => {
          throw new Error('bug')
        },
      })
      a!: string
    }
    expect(() => bodyCheck(Broken)({})).toThrow('bug')
  })

  it('NaN, infinities and text that no database stores are refused', () => {
    for (const value of [NaN, Infinity, -Infinity, '1e5', '0x10']) {
      expect(check(Everything, { integer: value })).toEqual(['type'])
      expect(check(Everything, { numeric: value })).toEqual(['type'])
    }
    expect(check(Everything, { price: 1e-7 })).toEqual(['isNumber'])
    expect(check(Everything, { string: '\udc00' })).toEqual(['type'])
    expect(check(Everything, { string: 'a\0' })).toEqual(['type'])
  })

  it('any value for any field is refused with 400 or accepted, by the checks of bodies and of texts', () => {
    const check = bodyCheck(Everything)
    const text = textCheck(Everything)
    const value = fc.anything({
      withBigInt: true,
      withBoxedValues: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
      withObjectString: true,
      withSet: true,
      withSparseArray: true,
      withTypedArray: true,
    })
    const input = fc.dictionary(
      fc.oneof(fc.constantFrom(...names, '__proto__', 'constructor'), fc.string()),
      value,
      {
        maxKeys: 4,
      },
    )
    const property = fc.property(input, (one) => {
      for (const run of [check, text]) {
        try {
          void run(one)
        } catch (error) {
          if (!(error instanceof HttpError) || error.status !== 400) throw error
        }
      }
    })
    fc.assert(property, { numRuns: rounds(1000), seed })
  })
})
