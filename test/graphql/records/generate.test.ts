import { describe, expect, it } from '@jest/globals'
import { DeclarationError, Field, GraphQL, Record, Resolve } from '../../../src/index.js'
import { printSchema, specifiedScalarTypes } from 'graphql'
import { queryNames, toCamelCase } from '../../../src/graphql/records/names.js'
import { plainSdl } from '../plain-sdl.js'
import { openShop, shopGraphql } from './shop.js'
import type { Class } from '../../public-types.js'
import { readTypeNotation, toGraphqlType } from '../../../src/graphql/type-notation.js'

const database = await openShop()
const graphql = shopGraphql(database)
const sdl = plainSdl(printSchema(graphql.schema.build().schema))

function typeText(name: string): string {
  return new RegExp(`^(type|input|enum) ${name} \\{[^}]*\\}`, 'm').exec(sdl)?.[0] ?? ''
}

function problemsOf(...classes: Class[]): string[] {
  const faulty = new GraphQL({ database })
  for (const type of classes) faulty.schema.fromOrm(type)
  try {
    faulty.schema.build()
  } catch (error) {
    return (error as DeclarationError).problems.map(({ code, message }) => `${code} ${message}`)
  }
  return []
}

describe('queryNames', () => {
  it.each([
    ['Category', {}, 'category', 'categories', 'categorys'],
    ['OrderItem', {}, 'orderitem', 'orderitems', undefined],
    ['Person', {}, 'person', 'people', 'persons'],
    ['Sheep', {}, 'sheep', 'sheepList', 'sheeps'],
    ['Product', { name: 'item' }, 'item', 'items', undefined],
    ['Product', { plural: 'goods' }, 'product', 'goods', undefined],
  ])('names the queries of %s with %j', (type, options, singular, plural, simplePlural) => {
    expect(queryNames(type, options)).toEqual({ singular, plural, simplePlural })
  })
})

describe('toCamelCase', () => {
  it.each([
    ['category_id', 'categoryId'],
    ['categoryId', 'categoryId'],
    ['CategoryName', 'categoryName'],
    ['ID', 'id'],
    ['_private_note', '_privateNote'],
    ['a__b', 'aB'],
  ])('writes %s as %s', (name, expected) => {
    expect(toCamelCase(name)).toBe(expected)
  })
})

describe('generateRecords', () => {
  it('makes an object type of the fields, their kinds, relations and methods', () => {
    expect(typeText('Product')).toBe(`type Product {
  id: ID!
  name: String
  price: Float
  stock: Int
  active: Boolean
  categoryId: ID
  createdAt: String
  photo: String
  meta: String
  color: Color
  labels: [String!]
  category: Category
  reviews(limit: Int = 10, offset: Int = 0, where: ReviewWhere, orderBy: [ReviewOrder!]): [Review!]
  reviewsCount: Int
  tags(limit: Int = 10, offset: Int = 0, where: TagWhere, orderBy: [TagOrder!]): [Tag!]
  tagsCount: Int
  withTax(rate: Float!): Float
}`)
  })

  it('omits keys, hidden and read-only fields from inputs, and accepts nested records and keys of links', () => {
    expect(typeText('ProductInput')).toBe(`input ProductInput {
  name: String
  price: Float
  stock: Int
  active: Boolean
  categoryId: ID
  photo: String
  meta: String
  color: Color
  labels: [String!]
  category: CategoryNested
  reviews: [ReviewNestedList!]
  tagIds: [ID!]
  tags: [TagNestedList!]
}`)
  })

  it('has hidden fields in no filter and no order', () => {
    expect(sdl).not.toContain('secret')
    expect(sdl).not.toContain('deletedAt')
  })

  it('makes an enum of oneOf with enum, with names that are valid in GraphQL', () => {
    expect(typeText('Color')).toBe('enum Color {\n  red\n  light_blue\n}')
  })

  it('declares the queries with a deprecated second plural', () => {
    const queries = typeText('Query')
    expect(queries).toContain('  category(id: ID): Category\n')
    expect(queries).toMatch(/ {2}categories\(limit: Int = 10, .*\): \[Category!\]\n/)
    expect(queries).toMatch(
      / {2}categorys\(.*\): \[Category!\] @deprecated\(reason: "Use categories."\)/,
    )
    expect(queries).toContain('  categoryCount(where: CategoryWhere): Int\n')
    expect(queries).toContain(
      '  categoriesPage(first: Int, after: String, last: Int, before: String, where: CategoryWhere',
    )
  })

  it('declares the mutations with the specified names', () => {
    const mutations = typeText('Mutation')
    expect(mutations).toContain('  createProduct(input: ProductInput): Product\n')
    expect(mutations).toContain('  updateProduct(id: ID!, input: ProductInput): Product\n')
    expect(mutations).toContain('  deleteProduct(id: ID!): Boolean\n')
  })

  it('refuses two records with the same query name, and names both', () => {
    @Record({ name: 'thing' })
    class One {
      @Field('id') id!: number
    }
    @Record({ name: 'thing' })
    class Two {
      @Field('id') id!: number
    }
    expect(problemsOf(One, Two)).toContain(
      'GRAPHQL_NAME_TAKEN Two and One both make the GraphQL query "thing".',
    )
  })

  it('refuses a record whose type name is already used', () => {
    @Record
    class Thing {
      @Field('id') id!: number
    }
    @Record
    class ThingWhere {
      @Field('id') id!: number
    }
    expect(problemsOf(Thing, ThingWhere)).toContain(
      'GRAPHQL_NAME_TAKEN ThingWhere and Thing both make the GraphQL type "ThingWhere".',
    )
  })

  it('refuses two properties of one name in GraphQL, and methods whose types are missing', () => {
    @Record
    class Twice {
      @Field('id') id!: number
      @Field('string', { column: 'a' }) first_name!: string
      @Field('string', { column: 'b' }) firstName!: string
      @Resolve('String', { needs: ['name'] })
      shout(): string {
        return this.firstName.toUpperCase()
      }
    }
    expect(problemsOf(Twice)).toEqual([
      'GRAPHQL_NAME_TAKEN Twice.firstName would be the second field "firstName" of its GraphQL type.',
      'GRAPHQL_NEEDS Twice.shout: "name" in needs is not a field of Twice.',
    ])
  })

  it('refuses an enum whose values make the same name', () => {
    @Record
    class Paint {
      @Field('id') id!: number
      @Field('string', { oneOf: ['a-b', 'a_b'], enum: 'Tone' }) tone!: string
    }
    expect(problemsOf(Paint)[0]).toBe(
      'GRAPHQL_ENUM Paint.tone: the values of the enum Tone do not make different names.',
    )
  })

  it('makes mutations without input for a record without writable fields', async () => {
    @Record
    class Visit {
      @Field('id') id!: number
      @Field('datetime', { default: 'now', readOnly: true }) at!: string
    }
    const visits = await openShop('sqlite::memory:', [Visit])
    const instance = new GraphQL({ database: visits })
    instance.schema.fromOrm(Visit)
    const result = await instance.execute('mutation { createVisit { id } }')
    expect(result).toEqual({ data: { createVisit: { id: '1' } } })
    await visits.close()
  })
})

describe('readTypeNotation', () => {
  it.each([
    ['ID', 'ID', []],
    ['[Item]', 'Item', ['list']],
    ['Float!', 'Float', ['required']],
    ['[Int!]!', 'Int', ['required', 'list', 'required']],
    [' [ [Int] ! ] ', 'Int', ['list', 'required', 'list']],
  ])('parses %s', (text, name, wrappers) => {
    expect(readTypeNotation(text)).toEqual({ name, wrappers })
  })

  it.each(['', '!', '[Int', 'Int]', 'Int!!', '2d', 'a b', '[]', '[Int][Int]', '[[[[[[[Int]]]]]]]'])(
    'refuses "%s"',
    (text) => {
      expect(readTypeNotation(text)).toBeUndefined()
    },
  )
})

describe('toGraphqlType', () => {
  const lookup = (name: string) => specifiedScalarTypes.find((type) => type.name === name)

  it.each(['ID', '[Int]', 'Float!', '[Int!]!', '[[String!]]!'])('makes the type %s', (text) => {
    expect(String(toGraphqlType(text, lookup))).toBe(text)
  })

  it('knows only the types of the lookup', () => {
    expect(toGraphqlType('[Item]', lookup)).toBeUndefined()
  })
})
