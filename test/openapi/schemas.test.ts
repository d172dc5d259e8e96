import { describe, expect, it } from '@jest/globals'
import { Field } from 'filigree'
import { type FieldRules, Page, partial, pick } from '../../src/index.js'
import { timestampPattern } from '../../src/fields/kinds/dates.js'
import { readShape } from '../../src/fields/shape.js'
import { fieldSchema } from '../../src/openapi/field-schema.js'
import { inferSchema } from '../../src/openapi/json-schema.js'
import { classSchema, componentName, createSchemas } from '../../src/openapi/schemas.js'
import type { KindName } from '../public-types.js'

function schemaOf(kind: KindName, rules: FieldRules): object {
  class Sample {
    value: unknown
  }
  Field(kind, rules)(Sample.prototype, 'value')
  return fieldSchema(readShape(Sample).byName.get('value')!, () => ({}))
}

const safeInteger = {
  type: 'integer',
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
}
const datetime = { type: 'string', maxLength: 40, pattern: timestampPattern }
const base64 = {
  type: 'string',
  contentEncoding: 'base64',
  pattern: '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$',
}

describe('fieldSchema', () => {
  it.each<[string, KindName, FieldRules, object]>([
    ['an integer', 'integer', {}, safeInteger],
    ['bounds', 'numeric', { min: 0, max: 9.5 }, { type: 'number', minimum: 0, maximum: 9.5 }],
    [
      'lengths',
      'string',
      { minLength: 1, maxLength: 80 },
      { type: 'string', minLength: 1, maxLength: 80 },
    ],
    ['a format', 'string', { format: 'ipv4' }, { type: 'string', format: 'ipv4' }],
    [
      'a format of our own',
      'string',
      { format: 'phone' },
      { type: 'string', pattern: '^\\+[1-9]\\d{5,14}$' },
    ],
    ['a datetime', 'datetime', {}, datetime],
    ['a UUID key', 'id', { key: 'uuid' }, { type: 'string', format: 'uuid', maxLength: 36 }],
    ['bytes', 'blob', { maxLength: 9 }, { ...base64, maxLength: 12 }],
    ['any JSON', 'json', {}, { type: ['object', 'array', 'string', 'number', 'boolean'] }],
    ['values', 'string', { oneOf: ['a', 'b'] }, { type: 'string', enum: ['a', 'b'] }],
    ['null', 'string', { nullable: true }, { type: ['string', 'null'] }],
    [
      'null among values',
      'string',
      { oneOf: ['a'], nullable: true },
      { type: ['string', 'null'], enum: ['a', null] },
    ],
    [
      'a list',
      'integer',
      { list: true, min: 1, minItems: 1, maxItems: 3 },
      { type: 'array', items: { ...safeInteger, minimum: 1 }, minItems: 1, maxItems: 3 },
    ],
    [
      'a list or null',
      'string',
      { list: true, nullable: true },
      { type: ['array', 'null'], items: { type: 'string' } },
    ],
    ['a pattern', 'string', { pattern: /^\d+$/ }, { type: 'string', pattern: '^\\d+$' }],
    [
      'a pattern in both cases',
      'string',
      { pattern: /^a[b-d]\d$/i },
      { type: 'string', pattern: '^[aA][b-dB-D]\\d$' },
    ],
    [
      'a pattern with other flags, in words',
      'string',
      { pattern: /^a$/m },
      { type: 'string', description: 'Matches /^a$/m.' },
    ],
    [
      'datetimes as bounds, in words',
      'datetime',
      { min: '2026-01-01', description: 'When.' },
      { ...datetime, description: 'When. Not before 2026-01-01.' },
    ],
    ['a default', 'integer', { default: 0 }, { ...safeInteger, default: 0 }],
    ['no default that is made anew', 'integer', { default: () => 1 }, safeInteger],
    ['an example', 'string', { example: 'Lamp' }, { type: 'string', examples: ['Lamp'] }],
    ['a read-only field', 'integer', { readOnly: true }, { ...safeInteger, readOnly: true }],
  ])('writes %s', (_, kind, rules, expected) => {
    expect(schemaOf(kind, rules)).toEqual(expected)
  })
})

class Leaf {
  @Field('string') name!: string
}

class Tree {
  @Field(() => Tree, { list: true }) children!: Tree[]
  @Field(() => Leaf, { nullable: true, description: 'One.' }) leaf!: Leaf | null
}

class Keyed {
  @Field('id', { readOnly: true }) id!: number
}

class Holder {
  @Field(() => Keyed) keyed!: Keyed
}

class Empty {}

describe('createSchemas', () => {
  it('follows classes in cycles, and contains each once', () => {
    const schemas = createSchemas()
    expect(schemas.of({ type: Tree, list: true }, 'output')).toEqual({
      type: 'array',
      items: { $ref: '#/components/schemas/Tree' },
    })
    schemas.of({ type: Tree, list: false }, 'input')
    expect([...schemas.components.keys()]).toEqual(['Tree', 'Leaf'])
    expect(schemas.components.get('Tree')!.properties).toEqual({
      children: { type: 'array', items: { $ref: '#/components/schemas/Tree' } },
      leaf: {
        anyOf: [{ $ref: '#/components/schemas/Leaf' }, { type: 'null' }],
        description: 'One.',
      },
    })
  })

  it('names the input separately where read-only fields are anywhere in it', () => {
    expect(componentName(Keyed, 'input')).toBe('KeyedInput')
    expect(componentName(Holder, 'input')).toBe('HolderInput')
    expect(componentName(Holder, 'output')).toBe('Holder')
    expect(componentName(Tree, 'input')).toBe('Tree')
  })

  it('uses any object for a class without fields, and the built-in types of the language', () => {
    const schemas = createSchemas()
    expect(classSchema(Empty, { view: 'output' }, () => ({}))).toEqual({ type: 'object' })
    expect(schemas.of({ type: String, list: true }, 'output')).toEqual({
      type: 'array',
      items: { type: 'string' },
    })
    expect(schemas.components.size).toBe(0)
  })

  it('names derived classes, pages and classes with unusual letters', () => {
    expect(componentName(pick(Leaf, 'name'), 'output')).toBe('LeafName')
    expect(componentName(partial(Leaf), 'input')).toBe('PartialLeaf')
    expect(componentName(Page.of(Leaf), 'output')).toBe('LeafPage')
    class Größe$ {}
    expect(componentName(Größe$, 'output')).toBe('Gr__e_')
    expect(componentName((() => class {})(), 'output')).toBe('Anonymous')
  })
})

describe('inferSchema', () => {
  it.each([
    [null, { type: 'null' }],
    [1, { type: 'integer' }],
    [1.5, { type: 'number' }],
    [true, { type: 'boolean' }],
    ['a', { type: 'string' }],
    [[], { type: 'array', items: {} }],
    [[1, 2], { type: 'array', items: { type: 'integer' } }],
    [[1, 'a'], { type: 'array', items: { anyOf: [{ type: 'integer' }, { type: 'string' }] } }],
    [
      [{ a: 1 }, { b: 'x', a: 2 }],
      {
        type: 'array',
        items: { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'string' } } },
      },
    ],
    [
      { a: { b: [] } },
      {
        type: 'object',
        properties: {
          a: { type: 'object', properties: { b: { type: 'array', items: {} } } },
        },
      },
    ],
  ])('infers from %j', (sample, expected) => {
    expect(inferSchema(sample)).toEqual(expected)
  })

  it('treats __proto__ as an ordinary name', () => {
    const schema = inferSchema(JSON.parse('{"__proto__": 1}'))
    expect(Object.keys(schema.properties!)).toEqual(['__proto__'])
  })
})
