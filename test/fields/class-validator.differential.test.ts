/**
 * Compares the compiled check with class-validator's own `validate()` for random classes and values: both return the same
 * result in the same order, also for unknown keys.
 */
import { describe, expect, it } from '@jest/globals'
import * as cv from 'class-validator'
import type { ValidationError, ValidationOptions } from 'class-validator'
import fc from 'fast-check'
import { type HttpError, Field } from '../../src/index.js'
import { rounds, seed } from '../random.js'
import { bodyCheck } from './compiled.js'

type Apply = (target: object, member: string) => void
type Type = new () => Record<string, unknown>

const classes = rounds(300)
const valuesPerClass = 40

const names = ['name', 'qty', 'tags', 'child'] as const

/** Compiled rules, rules that call class-validator, and asynchronous rules, all with and without `each`. */
const rules: fc.Arbitrary<(options?: ValidationOptions) => Apply> = fc.oneof(
  fc.constantFrom<(options?: ValidationOptions) => Apply>(
    (o) => cv.IsString(o),
    (o) => cv.IsInt(o),
    (o) => cv.IsBoolean(o),
    (o) => cv.IsArray(o),
    (o) => cv.IsObject(o),
    (o) => cv.IsDefined(o),
    (o) => cv.IsNotEmpty(o),
    (o) => cv.IsEmpty(o),
    (o) => cv.IsPositive(o),
    (o) => cv.IsNegative(o),
    (o) => cv.ArrayNotEmpty(o),
    (o) => cv.ArrayUnique(o),
    (o) => cv.IsNumber({}, o),
    (o) => cv.IsNumber({ maxDecimalPlaces: 1 }, o),
    (o) => cv.IsNumber({ allowNaN: true }, o),
    (o) => cv.IsEmail({}, o),
    (o) => cv.IsUrl({}, o),
    (o) => cv.IsUUID(4, o),
    (o) => cv.IsDateString({}, o),
    (o) => cv.IsNumberString({}, o),
    (o) => cv.IsAlpha('en-US', o),
    (o) => cv.IsJSON(o),
    (o) => cv.IsHexColor(o),
    (o) => cv.IsIP(4, o),
    (o) => cv.IsInstance(Date, o),
    (o) => cv.IsNotEmptyObject({}, o),
    (o) => cv.IsDivisibleBy(2, o),
    (o) => cv.Contains('a', o),
    (o) => cv.NotContains('a', o),
    (o) => cv.Matches(/^a/, o),
    (o) => cv.Matches(/a/g, o),
    (o) => cv.Matches('b', 'i', o),
    (o) => cv.IsEnum({ A: 'a', B: 'b', Three: 3 }, o),
    (o) => cv.Validate(Startled, o),
    (o) => cv.Validate(AsyncConstraint, [3], o),
    (o) =>
      cv.ValidateBy(
        { name: 'isInt', validator: { validate: (v) => v === 'a', defaultMessage: () => 'other' } },
        o,
      ),
    (o) => cv.IsString({ ...o, validateIf: (object: { qty?: unknown }) => object.qty !== 1 }),
    (o) => cv.IsInt({ ...o, groups: ['other'] }),
    (o) => cv.IsString({ ...o, message: '$property of $target is $value' }),
  ),
  fc.integer({ min: -2, max: 4 }).map((n) => (o?: ValidationOptions) => cv.Min(n, o)),
  fc.integer({ min: -2, max: 4 }).map((n) => (o?: ValidationOptions) => cv.Max(n, o)),
  fc.nat(4).map((n) => (o?: ValidationOptions) => cv.MinLength(n, o)),
  fc.nat(4).map((n) => (o?: ValidationOptions) => cv.MaxLength(n, o)),
  fc.nat(4).map((n) => (o?: ValidationOptions) => cv.Length(n, n + 1, o)),
  fc.nat(3).map((n) => (o?: ValidationOptions) => cv.ArrayMinSize(n, o)),
  fc.nat(3).map((n) => (o?: ValidationOptions) => cv.ArrayMaxSize(n, o)),
  fc.constantFrom('a', 1, null, true).map((x) => (o?: ValidationOptions) => cv.Equals(x, o)),
  fc.constantFrom('a', 1, null, true).map((x) => (o?: ValidationOptions) => cv.NotEquals(x, o)),
  fc.constant((o?: ValidationOptions) => cv.IsIn(['a', 1, null], o)),
  fc.constant((o?: ValidationOptions) => cv.IsNotIn(['a', 1, null], o)),
)

const conditions: fc.Arbitrary<Apply> = fc.constantFrom<Apply>(
  cv.IsOptional(),
  cv.ValidateIf((object: { name?: unknown }) => object.name === 'a'),
  cv.ValidateIf((_object, value) => value !== 0),
)

class Startled implements cv.ValidatorConstraintInterface {
  validate(value: unknown): boolean {
    return value !== 'a' && value !== 1
  }
  defaultMessage(): string {
    return '$property startles'
  }
}
cv.ValidatorConstraint({ name: 'startled' })(Startled)

class AsyncConstraint implements cv.ValidatorConstraintInterface {
  async validate(value: unknown, args: cv.ValidationArguments): Promise<boolean> {
    const [limit] = args.constraints as [number]
    return typeof value !== 'number' || value < limit
  }
  defaultMessage(): string {
    return '$property is late by $constraint1'
  }
}
cv.ValidatorConstraint({ name: 'late', async: true })(AsyncConstraint)

interface Plan {
  readonly property: (typeof names)[number]
  readonly applied: Apply[]
}

const plans: fc.Arbitrary<Plan[]> = fc.subarray([...names], { minLength: 1 }).chain((properties) =>
  fc.tuple(
    ...properties.map((property) =>
      fc.record({
        property: fc.constant(property),
        applied: fc
          .tuple(
            fc.array(
              fc.tuple(rules, fc.boolean()).map(([rule, each]) => rule({ each })),
              { minLength: 1, maxLength: 3 },
            ),
            fc.option(conditions, { freq: 3, nil: undefined }),
          )
          .map(([some, condition]) => (condition === undefined ? some : [...some, condition])),
      }),
    ),
  ),
)

const scalars = fc.oneof(
  fc.constantFrom<unknown>(
    undefined,
    null,
    '',
    'a',
    'ab',
    'b',
    '1',
    '5.5',
    'a@b.co',
    'http://a.co',
    '😀😀',
    '❤️',
    '2026-11-20',
    '#fff',
    '127.0.0.1',
    'true',
    true,
    false,
    0,
    1,
    2,
    3,
    -1,
    1.5,
    1.25,
    1e21,
    1.5e-7,
    'c0ffee00-0000-4000-8000-000000000000',
  ),
  fc.string({ maxLength: 5, unit: 'grapheme' }),
  fc.double(),
)

const children = fc.record(
  { n: fc.constantFrom<unknown>(1, 5, 'x', null), s: fc.constantFrom<unknown>('a', 'abc', 1) },
  { requiredKeys: [] },
)

const anything = fc.oneof(
  { weight: 5, arbitrary: scalars },
  { weight: 2, arbitrary: fc.array(scalars, { maxLength: 4 }) },
  { weight: 1, arbitrary: fc.dictionary(fc.constantFrom('a', 'b'), scalars, { maxKeys: 2 }) },
)

class Child {
  @cv.IsInt() @cv.Min(3) n!: unknown
  @cv.IsOptional() @cv.IsString() @cv.MaxLength(2) s?: unknown
}

const nested = fc.oneof(
  { weight: 2, arbitrary: children },
  {
    weight: 2,
    arbitrary: fc.array(fc.oneof({ weight: 4, arbitrary: children }, scalars), { maxLength: 3 }),
  },
  { weight: 1, arbitrary: scalars },
)

function toClass(properties: readonly Plan[]): Type {
  const type = class Made {} as Type
  for (const { property, applied } of properties) {
    // In the order of a transpiler: the last decorator first.
    for (const apply of applied.toReversed()) apply(type.prototype as object, property)
  }
  return type
}

/** Does the same as plainToInstance for such classes. */
function toInstance(type: Type, plain: Record<string, unknown>, nests: boolean): object {
  const instance = new type()
  for (const [key, value] of Object.entries(plain)) {
    instance[key] = nests && key === 'child' ? toChildren(value) : value
  }
  return instance
}

function toChildren(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toChildren)
  return typeof value === 'object' && value !== null ? Object.assign(new Child(), value) : value
}

/** `path code` of every violated rule, in order. An unknown key has a code of its lines. */
function listErrors(errors: readonly ValidationError[], parent = ''): string[] {
  return errors.flatMap((error) => {
    const path = `${parent}${error.property}`
    const lines = Object.entries(error.constraints ?? {}).map(([code, message]) =>
      code === 'whitelistValidation'
        ? `${path} unknown`
        : `${path} ${code}: ${parent === '' ? message : ''}`,
    )
    return [...lines, ...listErrors(error.children ?? [], `${path}.`)]
  })
}

async function ours(check: (value: unknown) => unknown, plain: unknown): Promise<string[]> {
  try {
    await check(plain)
    return []
  } catch (error) {
    const { errors, status } = error as HttpError
    if (status !== 400) throw error
    return (errors ?? []).map(({ path, code, message }) =>
      code === 'unknown'
        ? `${path} unknown`
        : `${path} ${code}: ${path.includes('.') ? '' : message}`,
    )
  }
}

async function theirs(instance: object): Promise<string[] | 'throws'> {
  try {
    return listErrors(
      await cv.validate(instance, {
        whitelist: true,
        forbidNonWhitelisted: true,
        forbidUnknownValues: false,
      }),
    )
  } catch {
    // For example, IsNumber throws for the decimal places of 1e-7.
    return 'throws'
  }
}

describe('the compiled check and class-validator', () => {
  it(`agree on ${classes * valuesPerClass} inputs of random classes: result, properties, codes, messages and their order`, async () => {
    let accepted = 0
    const property = fc.asyncProperty(
      plans,
      fc.array(fc.dictionary(fc.constantFrom(...names, 'more'), anything), {
        minLength: valuesPerClass,
        maxLength: valuesPerClass,
      }),
      async (properties, plains) => {
        const type = toClass(properties)
        const check = bodyCheck(type)
        // A condition sees declared properties only, so unknown keys are removed first.
        const knownNames = new Set<string>([...properties.map(({ property }) => property), 'more'])
        for (const all of plains) {
          const plain = Object.fromEntries(
            Object.entries(all).filter(([key]) => knownNames.has(key)),
          )
          const expected = await theirs(toInstance(type, plain, false))
          if (expected === 'throws') continue
          expect(await ours(check, plain)).toEqual(expected)
          if (expected.length === 0) accepted++
        }
      },
    )
    await fc.assert(property, { numRuns: classes, seed })
    // The comparison is meaningful only if both results are common.
    expect(accepted).toBeGreaterThan(classes / 2)
  })

  it('agree on nested objects, lists of them, and other values', async () => {
    const property = fc.asyncProperty(
      fc.option(conditions, { freq: 2, nil: undefined }),
      plans.map((all) => all.filter(({ property }) => property !== 'child')),
      fc.array(fc.tuple(fc.dictionary(fc.constantFrom('name', 'qty', 'more'), scalars), nested), {
        minLength: 15,
        maxLength: 15,
      }),
      async (condition, properties, values) => {
        const type = toClass([
          ...properties,
          { property: 'child', applied: condition ? [condition] : [] },
        ])
        cv.ValidateNested()(type.prototype as object, 'child')
        Reflect.defineMetadata('design:type', Child, type.prototype as object, 'child')
        const check = bodyCheck(type)
        const knownNames = new Set<string>([...properties.map(({ property }) => property), 'more'])
        for (const [all, child] of values) {
          const plain = Object.fromEntries(
            Object.entries(all).filter(([key]) => knownNames.has(key)),
          )
          const input = { ...plain, child }
          const expected = await theirs(toInstance(type, input, true))
          if (expected === 'throws') continue
          expect(await ours(check, input)).toEqual(expected)
        }
      },
    )
    await fc.assert(property, { numRuns: rounds(40), seed })
  })

  it('agree on the result and the properties when @Field is used as well', async () => {
    class Both {
      @Field('string', { minLength: 0 }) @cv.Length(1, 3) @cv.Matches(/^[a-z]*$/) name!: string
      @Field('numeric') @cv.Min(2) @cv.IsInt() qty!: number
      @Field('string', { list: true })
      @cv.ArrayMaxSize(2)
      @cv.IsIn(['a', 'b'], { each: true })
      tags!: string[]
      @Field(() => Child) @cv.ValidateNested() child!: Child
    }
    class Alone {
      @cv.Length(1, 3) @cv.IsString() @cv.Matches(/^[a-z]*$/) name!: string
      @cv.IsNumber() @cv.Min(2) @cv.IsInt() qty!: number
      @cv.IsArray()
      @cv.ArrayMaxSize(2)
      @cv.IsString({ each: true })
      @cv.IsIn(['a', 'b'], { each: true })
      tags!: string[]
      @cv.IsDefined() @cv.IsObject() @cv.ValidateNested() child!: Child
    }
    const check = bodyCheck(Both, { unknownKeys: 'drop' })
    const property = fc.asyncProperty(
      fc.record(
        {
          name: fc.oneof(fc.constantFrom('a', 'abc', 'abcd', ''), scalars),
          qty: fc.oneof(fc.integer({ min: 0, max: 4 }), scalars),
          tags: fc.oneof(fc.array(fc.constantFrom('a', 'b', 'c', 1), { maxLength: 3 }), scalars),
          child: fc.oneof(children, scalars),
        },
        { requiredKeys: [] },
      ),
      async (plain) => {
        const property = (line: string): string => line.slice(0, line.search(/[ .]/))
        const expected = await theirs(toInstance(Alone as unknown as Type, plain, true))
        if (expected === 'throws') return
        const failing = new Set(expected.map(property))
        expect(new Set((await ours(check, plain)).map(property))).toEqual(failing)
      },
    )
    await fc.assert(property, { numRuns: rounds(400), seed })
  })
})
