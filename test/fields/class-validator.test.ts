/** Cases that the random comparison does not cover: lazy rules, conditions with @Field, groups, errors thrown by custom rules. */
import { describe, expect, it } from '@jest/globals'
import * as cv from 'class-validator'
import { HttpError, Field } from '../../src/index.js'
import type { Class } from '../public-types.js'
import { bodyCheck, type InputOptions } from './compiled.js'

async function check(type: Class, value: unknown, options?: InputOptions): Promise<unknown> {
  try {
    return await bodyCheck(type, options)(value)
  } catch (error) {
    if (!(error instanceof HttpError)) throw error
    return (error.errors ?? []).map(({ path, code, message }) => `${path} ${code}: ${message}`)
  }
}

class Child {
  @cv.IsInt() n!: number
}

describe('class-validator as a source', () => {
  it('refuses unknown keys and accepts classes without any rule', async () => {
    class Empty {}
    class Holder {
      @Field(() => Empty) empty!: Empty
      @cv.Allow() free: unknown
    }
    expect(await check(Holder, { empty: {}, free: { a: 1 } })).toEqual({
      empty: {},
      free: { a: 1 },
    })
    expect(await check(Holder, { empty: {} })).toEqual({ empty: {} })
    expect(await check(Holder, { empty: { a: 1 }, b: 1 })).toEqual([
      'empty.a unknown: empty.a is unknown',
      'b unknown: b is unknown',
    ])
  })

  it('returns a promise only where a rule is asynchronous', async () => {
    class Custom {
      @cv.ValidateBy({
        name: 'odd',
        validator: {
          validate: (n) => Number(n) % 2 === 1,
          defaultMessage: () => '$property is even',
        },
      })
      n!: number
    }
    class Async {
      @cv.ValidateBy({
        name: 'odd',
        async: true,
        validator: {
          validate: async (n) => Number(n) % 2 === 1,
          defaultMessage: () => '$property is even',
        },
      })
      n!: number
    }
    expect(bodyCheck(Custom)({ n: 1 })).toEqual({ n: 1 })
    expect(bodyCheck(Async)({ n: 1 })).toBeInstanceOf(Promise)
    expect(await check(Custom, { n: 2 })).toEqual(['n odd: n is even'])
    expect(await check(Async, { n: 2 })).toEqual(['n odd: n is even'])
  })

  it('passes the finished instance to rules, nested ones theirs, with paths to the root', async () => {
    const calls: unknown[] = []
    const look = (decorated: string): PropertyDecorator =>
      cv.ValidateBy({
        name: decorated,
        validator: {
          validate: (_value, args) => {
            calls.push(args?.object)
            return false
          },
          defaultMessage: () => '$property was seen in $target',
        },
      })
    class Inner {
      @look('inner') a!: string
      @Field('integer') b!: number
    }
    class Outer {
      @look('outer') z!: string
      @Field(() => Inner, { list: true }) inner!: Inner[]
    }
    expect(await check(Outer, { z: 'z', inner: [{ a: 'a', b: 1 }] })).toEqual([
      'inner.0.a inner: inner.0.a was seen in Inner',
      'z outer: z was seen in Outer',
    ])
    expect(calls).toEqual([
      { a: 'a', b: 1 },
      { z: 'z', inner: [{ a: 'a', b: 1 }] },
    ])
    expect(calls[1]).toBeInstanceOf(Outer)
  })

  it('treats an error thrown by a custom rule as a server error, unless the input was already invalid', async () => {
    class Throwing {
      @Field('integer') n!: number
      @cv.ValidateBy({
        name: 'bad',
        validator: {
          validate: () => {
            throw new Error('bug')
          },
        },
      })
      other: unknown
    }
    await expect(check(Throwing, { n: 1 })).rejects.toThrow('bug')
    expect(await check(Throwing, { n: 'x' })).toEqual(['n type: n must be an integer'])
  })

  it('treats IsOptional with @Field as absent or null', async () => {
    class Dto {
      @Field('string') @cv.IsOptional() @cv.IsEmail() mail?: string | null
      @Field(() => Child) @cv.IsOptional() @cv.ValidateNested() child?: Child
    }
    expect(await check(Dto, {})).toEqual({})
    expect(await check(Dto, { mail: null, child: null })).toEqual({ mail: null, child: null })
    expect(await check(Dto, { mail: 'x', child: { n: 'x' } })).toEqual([
      'mail isEmail: mail must be an email',
      'child.n isInt: child.n must be an integer number',
    ])
    expect(await check(Dto, { mail: 5 })).toEqual(['mail type: mail must be a string'])
  })

  it('lets ValidateIf with @Field allow a missing value, but not a wrong one', async () => {
    class Dto {
      @Field('boolean') ship!: boolean
      @Field('string') @cv.ValidateIf(({ ship }: Dto) => ship) @cv.MinLength(3) street?:
        string | null
    }
    expect(await check(Dto, { ship: false })).toEqual({ ship: false })
    expect(await check(Dto, { ship: false, street: null })).toEqual({ ship: false, street: null })
    expect(await check(Dto, { ship: false, street: 'a' })).toEqual({ ship: false, street: 'a' })
    expect(await check(Dto, { ship: false, street: 5 })).toEqual([
      'street type: street must be a string',
    ])
    expect(await check(Dto, { ship: true })).toEqual(['street required: street is required'])
    expect(await check(Dto, { ship: true, street: null })).toEqual([
      'street type: street must not be null',
    ])
    expect(await check(Dto, { ship: true, street: 'a' })).toEqual([
      'street minLength: street must be longer than or equal to 3 characters',
    ])
  })

  it('applies `optional` of @Field to the rules of class-validator, too', async () => {
    class Dto {
      @Field('string', { optional: true }) @cv.IsEmail() mail?: string
    }
    expect(await check(Dto, {})).toEqual({})
    expect(await check(Dto, { mail: 'x' })).toEqual(['mail isEmail: mail must be an email'])
  })

  it('ignores groups unless one is requested', async () => {
    class Dto {
      @cv.MinLength(5, { groups: ['strict'] }) @cv.MinLength(1, { groups: ['loose'] }) a!: string
      @cv.IsInt({ always: true }) b!: number
    }
    expect(await check(Dto, { a: 'abc', b: 1 })).toHaveLength(1)
    expect(await check(Dto, { a: 'abc', b: 1 }, { groups: ['loose'] })).toEqual({ a: 'abc', b: 1 })
    expect(await check(Dto, { a: 'abc', b: 'x' }, { groups: ['strict'] })).toEqual([
      'a minLength: a must be longer than or equal to 5 characters',
      'b isInt: b must be an integer number',
    ])
  })

  it('inherits rules as class-validator does', async () => {
    class Sub extends Child {
      @cv.IsString() s!: string
    }
    expect(await check(Sub, { n: 'x', s: 1 })).toEqual([
      's isString: s must be a string',
      'n isInt: n must be an integer number',
    ])
  })

  it('uses initial values for absent keys, and checks them', async () => {
    class Dto {
      @cv.IsInt() page = 1
      @cv.IsInt() broken = 'x' as unknown as number
    }
    expect(await check(Dto, { broken: 1 })).toEqual({ page: 1, broken: 1 })
    expect(await check(Dto, {})).toEqual(['broken isInt: broken must be an integer number'])
  })

  it('calls a custom rule that has the name of a built-in', async () => {
    class Dto {
      @cv.ValidateBy({
        name: 'isInt',
        validator: {
          validate: (v) => v === 'seven',
          defaultMessage: () => '$property must be an integer number',
        },
      })
      n!: unknown
    }
    expect(await check(Dto, { n: 'seven' })).toEqual({ n: 'seven' })
    expect(await check(Dto, { n: 7 })).toEqual(['n isInt: n must be an integer number'])
  })

  it('gets constraints from the given container', async () => {
    class Limits implements cv.ValidatorConstraintInterface {
      constructor(readonly max = 0) {}
      validate(value: unknown): boolean {
        return Number(value) <= this.max
      }
      defaultMessage(): string {
        return '$property is over the limit'
      }
    }
    cv.ValidatorConstraint({ name: 'limits' })(Limits)
    class Dto {
      @cv.Validate(Limits) n!: number
    }
    const limits = new Limits(5)
    cv.useContainer(
      { get: (type: unknown) => (type === Limits ? limits : undefined) },
      { fallback: true },
    )
    expect(await check(Dto, { n: 5 })).toEqual({ n: 5 })
    expect(await check(Dto, { n: 6 })).toEqual(['n limits: n is over the limit'])
  })

  it('reports at most 50 violations of any source', async () => {
    class Many {
      @Field(() => Child, { list: true }) children!: Child[]
    }
    const violations = await check(Many, { children: new Array(60).fill({ n: 'x' }) })
    expect(violations).toHaveLength(50)
  })
})
