import { IsEmail } from 'class-validator'
import { describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  connect,
  Field,
  HasMany,
  ManyToMany,
  Record,
  type Rel,
} from '../../src/index.js'
import { Problems } from '../../src/errors/problems.js'
import { toIndexName, toSnakeCase } from '../../src/records/model/generated-names.js'
import { readTable, readTables } from '../../src/records/model/read-table.js'
import { Author, Category, Person, Product, Review, shop, Tag } from './shop.js'
import type { Class } from '../public-types.js'

function problemsOf(...types: Class[]): string[] {
  const problems = new Problems()
  readTables(types, problems)
  return problems.list.map(({ code, message, remedy }) => `${code} ${message} ${remedy}`.trim())
}

/** @returns a record with a key and these members */
function recordOf(
  members: Readonly<globalThis.Record<string, PropertyDecorator>>,
  name = 'Note',
): Class {
  const type = { [name]: class {} }[name] as Class
  Field('id')(type.prototype as object, 'id')
  for (const [member, decorate] of Object.entries(members))
    decorate(type.prototype as object, member)
  Record(type)
  return type
}

describe('toSnakeCase', () => {
  it.each([
    ['categoryId', 'category_id'],
    ['OrderItem', 'order_item'],
    ['HTTPServer', 'http_server'],
    ['address2', 'address2'],
    ['snake_case', 'snake_case'],
    ['ID', 'id'],
  ])('converts %s to %s', (name, expected) => {
    expect(toSnakeCase(name)).toBe(expected)
  })
})

describe('toIndexName', () => {
  it('combines the table and the columns', () => {
    expect(toIndexName('product', ['name'], true)).toBe('product_name_key')
    expect(toIndexName('product', ['a', 'b'], false)).toBe('product_a_b_index')
  })

  it('shortens long names to 63 bytes and keeps them distinct', () => {
    const [a, b] = [
      toIndexName('x'.repeat(60), ['a'], false),
      toIndexName('x'.repeat(60), ['b'], false),
    ]
    expect([a.length, b.length]).toStrictEqual([63, 63])
    expect(a).not.toBe(b)
  })
})

describe('readTable', () => {
  const read = <T extends object>(type: Class<T>) => readTable(type, new Problems())!

  it('creates columns for fields, but not for relations', () => {
    const table = read(Product)
    expect(table.name).toBe('product')
    expect(table.key.name).toBe('id')
    const columns = table.columns.map(
      ({ name, storage, nullable }) => `${name} ${storage}${nullable ? '' : ' not null'}`,
    )
    expect(columns).toStrictEqual([
      'id integer not null',
      'name text not null',
      'price real not null',
      'category_id integer not null',
      'stock integer',
      'description text',
      'active integer not null',
      'created_at timestamp not null',
      'sold_at timestamp',
      'picture bytes',
      'extra json',
      'colors json not null',
      'sizes json',
      'secret text',
    ])
  })

  it('creates requested indexes, and indexes of foreign keys', () => {
    const names = (type: Class): string[] => read(type).indexes.map(({ name }) => name)
    expect(names(Product)).toStrictEqual(['product_name_index', 'product_category_id_index'])
    expect(names(Category)).toStrictEqual(['category_name_key'])
    expect(names(Person)).toStrictEqual(['person_city_street_key'])
  })

  it('creates an index for a foreign key that is not the first field of another index', () => {
    @Record
    class Stock {
      @Field('id') id!: number
      @Field('datetime', { index: 'day' }) day!: string
      @Field('integer', { index: 'day' }) productId!: number
      @Field('integer', { unique: 'place' }) categoryId!: number
      @Field('integer', { unique: 'place' }) place!: number
      @Field('integer', { index: false }) tagId!: number
      @BelongsTo(() => Product) product!: Rel<Product>
      @BelongsTo(() => Category) category!: Rel<Category>
      @BelongsTo(() => Tag) tag!: Rel<Tag>
    }
    expect(read(Stock).indexes.map(({ name }) => name)).toStrictEqual([
      'stock_day_product_id_index',
      'stock_category_id_place_key',
      'stock_product_id_index',
    ])
  })

  it('maps both sides of a relation to the same columns', () => {
    const category = read(Product).relations.get('category')
    expect(category).toMatchObject({ kind: 'belongsTo', onDelete: 'restrict' })
    expect(category?.target).toBe(read(Category))
    expect([category?.local.property, category?.foreign.property]).toStrictEqual([
      'categoryId',
      'id',
    ])
    const products = read(Category).relations.get('products')
    expect(products?.target).toBe(read(Product))
    expect([products?.local.property, products?.foreign.property]).toStrictEqual([
      'id',
      'categoryId',
    ])
    expect(read(Author).relations.get('reviews')?.foreign.property).toBe('authorKey')
  })

  it('derives one join table from both sides', () => {
    const joinOf = (type: Class, relation: string): unknown => {
      const { name, from, to } = read(type).relations.get(relation)?.join ?? {}
      return [name, from?.columns, to?.columns]
    }
    expect(joinOf(Product, 'tags')).toStrictEqual(['product_tag', ['product_id'], ['tag_id']])
    expect(joinOf(Tag, 'products')).toStrictEqual(['product_tag', ['tag_id'], ['product_id']])
    expect(joinOf(Person, 'follows')).toStrictEqual(['following', ['follower_id'], ['followed_id']])
  })

  it('recognizes fields that hold a UUID', () => {
    expect(read(Author).key).toMatchObject({ generated: 'uuid', isUuid: true, storage: 'text' })
    expect(read(Review).byProperty.get('authorKey')?.isUuid).toBe(true)
  })

  it('returns the same frozen table for the same record', () => {
    expect(read(Product)).toBe(read(Product))
    expect(Object.isFrozen(read(Product))).toBe(true)
    expect(Object.isFrozen(read(Product).columns)).toBe(true)
  })

  it('finds every table that relations reach', () => {
    const problems = new Problems()
    const found = readTables([Category], problems).map(({ type }) => type)
    expect(new Set(found)).toStrictEqual(new Set(shop.filter((type) => type !== Person)))
    expect(problems.list).toStrictEqual([])
  })

  it('adds fields for timestamps and soft deletion once', () => {
    expect(read(Author).columns.map(({ name }) => name)).toStrictEqual([
      'id',
      'name',
      'created_at',
      'updated_at',
    ])
    expect(read(Tag).deletedAt).toMatchObject({ name: 'deleted_at', nullable: true })
    expect(read(Tag).deletedAt?.field.hidden).toBe(true)
  })
})

describe('an invalid record is reported', () => {
  it('without @Record, even if its base class has it', () => {
    class Plain {}
    class Special extends Category {}
    expect(problemsOf(Plain)).toStrictEqual([
      'NOT_A_RECORD Plain is used as a record but has no @Record. Add @Record to the class Plain.',
    ])
    expect(problemsOf(Special)[0]).toContain('NOT_A_RECORD Special')
  })

  it('without a key, and with two keys', () => {
    @Record
    class None {
      @Field('string') name!: string
    }
    @Record
    class Two {
      @Field('id') a!: number
      @Field('id') b!: number
    }
    expect(problemsOf(None)).toStrictEqual([
      "RECORD_KEY_MISSING None has no primary key. Add @Field('id') id!: number to None.",
    ])
    expect(problemsOf(Two)).toStrictEqual([
      "RECORD_KEY_TWICE Two has two primary keys, a and b. Keep one @Field('id').",
    ])
  })

  it('with duplicate or invalid names', () => {
    @Record({ table: 'a b' })
    class Named {
      @Field('id') id!: number
      @Field('string') userId!: string
      @Field('string') user_id!: string
      @Field('string', { column: 'x"y' }) quoted!: string
      @Field('string') or!: string
    }
    expect(problemsOf(Named).map((text) => text.split('. ')[0])).toStrictEqual([
      'RECORD_NAME Named: table cannot be called "a b"',
      'RECORD_NAME Named.quoted: column cannot be called "x"y"',
      'RECORD_FIELD_NAME Named.or: "or" is a word of filters and cannot be a field\'s name',
      'RECORD_COLUMN_TWICE Named: userId and user_id are both stored in the column "user_id"',
    ])
  })

  it.each([
    ['ctid', 'PostgreSQL'],
    ['xmin', 'PostgreSQL'],
    ['tableoid', 'PostgreSQL'],
    ['rowid', 'SQLite'],
  ])('with a column name that an engine reserves: %s', (name, engine) => {
    const type = recordOf({ [name]: Field('string'), other: Field('string', { column: name }) })
    const found = problemsOf(type).filter((text) => text.startsWith('RECORD_NAME'))
    expect(found).toStrictEqual(
      [name, 'other'].map(
        (field) =>
          `RECORD_NAME Note.${field}: every table of ${engine} already has a column "${name}". Name another column: { column: '${name}_value' }.`,
      ),
    )
  })

  it('with a column name that a subquery loses', () => {
    expect(problemsOf(recordOf({ other: Field('string', { column: 'true' }) }))).toContainEqual(
      'RECORD_NAME Note.other: SQLite cannot find a column "true" in every query. Name another column: { column: \'true_value\' }.',
    )
  })

  it.each([
    'constructor',
    'toString',
    'valueOf',
    'hasOwnProperty',
    'isPrototypeOf',
    '__defineGetter__',
  ])('with a field named like a property of every object: %s', (name) => {
    expect(problemsOf(recordOf({ [name]: Field('string') }))).toStrictEqual([
      `FIELD_NAME Note.${name}: every object already has a property "${name}". Rename it.`,
    ])
  })

  it('with a join table that belongs to a record or another relation', () => {
    const Place = recordOf({}, 'Place')
    const Visit = recordOf({ places: ManyToMany(() => Place, { through: 'Place' }) }, 'Visit')
    expect(problemsOf(Visit)).toStrictEqual([
      'RELATION_JOIN Visit.places: "Place" cannot be its join table, because the record Place is stored in it. ' +
        "Name another table: { through: '…' }, or write @HasMany(() => Place) on both sides.",
    ])
    const Person: Class = recordOf(
      { friends: ManyToMany(() => Person), rivals: ManyToMany(() => Person) },
      'Person',
    )
    expect(problemsOf(Person)).toStrictEqual([
      'RELATION_JOIN Person.rivals: "person_person" cannot be its join table, because Person.friends stores other links in it. ' +
        "Name another table: { through: '…' }.",
    ])
    const Other = recordOf({ x: ManyToMany(() => Place, { through: 'pg_x', to: 'ctid' }) }, 'Other')
    expect(problemsOf(Other)[0]).toContain('RELATION_JOIN Other.x: the join table cannot be pg_x')
  })

  it('with the table of another record', () => {
    @Record({ table: 'Product' })
    class Other {
      @Field('id') id!: number
    }
    expect(problemsOf(Product, Other)).toContain(
      `RECORD_TABLE_TWICE Other and Product are both stored in the table "Product". Name another: @Record({ table: '…' }) before class Other.`,
    )
  })

  it('with a misspelt option, a field without a kind, and an index over JSON', () => {
    @Record({ tabel: 'x' } as object)
    class Odd {
      @Field('id') id!: number
      @IsEmail() email!: string
      @Field('json', { index: true }) data!: unknown
    }
    expect(problemsOf(Odd)).toStrictEqual([
      'UNKNOWN_OPTION @Record of Odd: unknown option "tabel". Did you mean "table"? Options: table, schema, key, was, name, plural, softDelete, writes, isolation, subscriptions, constraints, indexes, search, searchLimit, version, shardBy, partitionBy, managed, timestamps, rows.',
      "RECORD_FIELD_UNDECLARED Odd.email has rules of class-validator but no @Field, so its column has no kind. Add @Field('string') or the kind that fits.",
      'RECORD_INDEX Odd.data: a list or JSON value cannot be indexed. Remove the rule.',
    ])
  })

  it('with relations to missing records or fields', () => {
    class Plain {}
    @Record
    class Lost {
      @Field('id') id!: number
      @Field('string') nameId!: string
      @BelongsTo(() => Plain) plain!: Rel<Plain>
      @BelongsTo(() => undefined as never) nothing!: Rel<Plain>
      @BelongsTo(() => Category) categry!: Rel<Category>
      @BelongsTo(() => Category, { by: 'nameId' }) name!: Rel<Category>
      @HasMany(() => Category) categories!: Rel<Category[]>
      @ManyToMany(() => Category, { through: 'a b' }) all!: Rel<Category[]>
      @BelongsTo(() => Category, { onDelet: 'x' } as object) other!: Rel<Category>
    }
    const found = problemsOf(Lost)
    for (const text of [
      'RELATION_TARGET Lost.plain: Plain is not a record.',
      'RELATION_TARGET Lost.nothing: it does not lead to a class.',
      'RELATION_FIELD Lost.categry: Lost has no field "categryId".',
      'RELATION_KIND Lost.name: Lost.nameId is of kind "string" and cannot hold a key of kind "integer".',
      'RELATION_FIELD Lost.categories: Category has no field "lostId".',
      'RELATION_JOIN Lost.all: the join table cannot be a b',
      'UNKNOWN_OPTION Lost.other: unknown option "onDelet". Did you mean "onDelete"?',
    ]) {
      expect(found.some((one) => one.includes(text))).toBe(true)
    }
  })

  it('with setNull on a field that cannot be null', () => {
    @Record
    class Strict {
      @Field('id') id!: number
      @Field('integer') categoryId!: number
      @BelongsTo(() => Category, { onDelete: 'setNull' }) category!: Rel<Category>
    }
    expect(problemsOf(Strict)).toStrictEqual([
      "RELATION_ON_DELETE Strict.category: onDelete 'setNull' needs a field that can be null, but categoryId cannot. Add nullable: true to categoryId.",
    ])
  })

  it('by connect and database.records, with all problems together', async () => {
    class Plain {}
    @Record
    class None {}
    await expect(connect('sqlite::memory:', { records: [Plain, None] })).rejects.toMatchObject({
      problems: [{ code: 'NOT_A_RECORD' }, { code: 'RECORD_KEY_MISSING' }],
    })
    await using database = await connect('sqlite::memory:')
    expect(() => database.records(Plain)).toThrow('Plain is used as a record')
  })

  it('when a decorator is used in the wrong place', () => {
    expect(() => {
      BelongsTo(() => Category)(class {})
    }).toThrow('it can only be used on a property of instances')
    expect(() => {
      Record({})(Category.prototype, 'name')
    }).toThrow('it can only be used on a class')
  })
})
