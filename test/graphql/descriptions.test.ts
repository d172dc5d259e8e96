/** Every field, argument and type of a schema has a description, declared or generated. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import {
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  type GraphQLSchema,
  type GraphQLType,
} from 'graphql'
import {
  BelongsTo,
  connect,
  type Database,
  Doc,
  Field,
  GraphQL,
  HasMany,
  ManyToMany,
  Record,
  type Rel,
  Resolve,
} from '../../src/index.js'
import { startAtlas } from '../samples/small-world.js'

class Size {
  @Field('integer') width!: number
}

@Doc({ description: 'A shelf in the shop.' })
@Record({ version: true, timestamps: true })
class Shelf {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string', { maxLength: 80, minLength: 2, unique: true }) name!: string
  @Doc({ description: 'The text of the clerk.' })
  @Field('text', { nullable: true, optional: true })
  note?: string | null
  @HasMany(() => Lamp) lamps!: Rel<Lamp[]>
}

@Record({ softDelete: true })
class Lamp {
  @Field('id') id!: number
  @Field('string', { oneOf: ['red', 'light-blue'], enum: 'Color' }) color!: string
  @Field('string', { list: true, oneOf: ['a', 'b'], enum: 'Letter' }) letters!: string[]
  @Field('decimal', { min: '0.00', max: '99.00' }) price!: string
  @Field('numeric', { description: 'In grams.' }) weight!: number
  @Field('bigint', { optional: true, nullable: true }) serial?: string | null
  @Field('datetime', { default: 'now', readOnly: true }) madeAt!: string
  @Field('date', { optional: true }) soldOn?: string
  @Field('time', { optional: true }) shownAt?: string
  @Field('string', { format: 'email', optional: true }) maker?: string
  @Field('string', { pattern: /^[a-z]+$/, optional: true }) code?: string
  @Field('blob', { optional: true }) photo?: Buffer
  @Field('json', { optional: true, nullable: true }) meta?: unknown
  @Field('boolean', { default: false }) isNew!: boolean
  @Field('integer', { list: true, minItems: 1, maxItems: 9 }) watts!: number[]
  @Field(() => Size) size!: Size
  @Field('uuid') shelfId!: string
  @BelongsTo(() => Shelf) shelf!: Rel<Shelf>
  @ManyToMany(() => Tag) tags!: Rel<Tag[]>
  @Resolve('Float', {
    needs: ['weight'],
    args: { factor: 'Float!', plus: { type: 'Int', default: 1 } },
  })
  heavier({ factor }: { factor: number }): number {
    return this.weight * factor
  }
}

@Record({ writes: false })
class Tag {
  @Field('id') id!: number
  @Field('string') word!: string
}

function nameOf(type: GraphQLType): string {
  return getNamedType(type).name
}

/** Schema coordinates without a description: `Product.price`, `Query.product(id:)`, `Color.red`. */
function undescribed(schema: GraphQLSchema): string[] {
  const missing: string[] = []
  const check = (
    where: string,
    { description }: { readonly description?: string | null | undefined },
  ): void => {
    if (typeof description !== 'string' || description.trim() === '') missing.push(where)
  }
  for (const type of Object.values(schema.getTypeMap())) {
    check(type.name, type)
    if (isObjectType(type) || isInterfaceType(type)) {
      if (type.name.startsWith('__')) continue
      for (const field of Object.values(type.getFields())) {
        check(`${type.name}.${field.name}`, field)
        for (const one of field.args) check(`${type.name}.${field.name}(${one.name}:)`, one)
      }
    } else if (isInputObjectType(type)) {
      for (const field of Object.values(type.getFields()))
        check(`${type.name}.${field.name}`, field)
    } else if (isEnumType(type)) {
      for (const value of type.getValues()) check(`${type.name}.${value.name}`, value)
    }
  }
  for (const directive of schema.getDirectives()) {
    check(`@${directive.name}`, directive)
    for (const one of directive.args) check(`@${directive.name}(${one.name}:)`, one)
  }
  return missing
}

let database: Database | undefined
afterEach(() => database?.close())

async function rich(relay: boolean): Promise<GraphQL> {
  database = await connect('sqlite::memory:', { records: [Shelf, Lamp, Tag] })
  const graphql = new GraphQL({ database, relay })
  graphql.schema
    .fromOrm(Shelf)
    .fromOrm(Tag)
    .addType('Quote', { id: 'ID!', text: 'String', tags: '[String!]', author: { type: 'Author' } })
    .addType('Author', { name: 'String' })
    .addInput('QuoteInput', { text: 'String!', stars: { type: 'Int', default: 3 } })
    .addEnum('Mood', ['good', 'bad'])
    .addQuery('quote', { type: 'Quote', args: { id: 'ID!', mood: 'Mood' }, resolve: () => null })
    .addMutation('addQuote', { type: 'Quote', args: { input: 'QuoteInput!' }, resolve: () => null })
    .addField('Lamp', 'glow', { type: 'Float', args: { of: '[Int!]' }, resolve: () => 1 })
    .addSubscription('price', { type: 'Float', subscribe: () => undefined })
  return graphql
}

describe('descriptions', () => {
  it.each([false, true])('are everywhere in a rich schema (relay: %s)', async (relay) => {
    const { schema } = (await rich(relay)).schema.build()
    expect(Object.keys(schema.getTypeMap()).length).toBeGreaterThan(50)
    expect(undescribed(schema)).toEqual([])
  })

  it('are everywhere in the atlas sample', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'filigree-described-'))
    const app = await startAtlas({ url: 'sqlite::memory:', folder })
    expect(undescribed(app.graphql.schema.build().schema)).toEqual([])
    await app.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('come from @Doc, from the decorator, or from the rules', async () => {
    const { schema } = (await rich(false)).schema.build()
    const of = (type: string, field?: string): string | null | undefined => {
      const found = schema.getType(type)
      if (field === undefined) return found?.description
      return isObjectType(found) || isInputObjectType(found)
        ? found.getFields()[field]?.description
        : undefined
    }
    expect(of('Shelf')).toBe('A shelf in the shop.')
    expect(of('Shelf', 'note')).toBe('The text of the clerk.')
    expect(of('ShelfInput', 'note')).toBe('The text of the clerk.')
    expect(of('Lamp', 'weight')).toBe('In grams.')
    expect(of('Shelf', 'name')).toBe('A string, from 2 to 80 characters. Unique.')
    expect(of('Lamp', 'watts')).toBe('A list, each an integer. From 1 to 9 items.')
    expect(of('Lamp', 'maker')).toBe('An email address.')
    expect(of('Lamp', 'madeAt')).toBe('An ISO 8601 date and time. Set by the server.')
    expect(of('Lamp', 'shelf')).toBe('The Shelf whose key is shelfId.')
    expect(of('Shelf', 'lamps')).toBe('Every Lamp whose shelfId is the key of this record.')
    expect(of('Query', 'lamp')).toBe(
      'A Lamp by its key. Null if it does not exist or the caller may not see it.',
    )
    expect(of('Quote', 'tags')).toBe('A list: each a text. May be null.')
  })
})

describe('unused types', () => {
  it('are omitted', async () => {
    const { schema } = (await rich(false)).schema.build()
    const names = Object.keys(schema.getTypeMap())
    expect(names).toContain('ColorFilter')
    expect(names).not.toContain('ColorListFilter')
    expect(names).toContain('LetterListFilter')
    expect(names).not.toContain('LetterFilter')
    const used = new Set<string>()
    for (const type of Object.values(schema.getTypeMap())) {
      if (!isObjectType(type) && !isInputObjectType(type)) continue
      for (const field of Object.values(type.getFields())) {
        used.add(nameOf(field.type))
        for (const one of 'args' in field ? field.args : []) used.add(nameOf(one.type))
      }
    }
    const built = Object.values(schema.getTypeMap()).filter((type) => !isObjectType(type))
    expect(built.map(({ name }) => name).filter((name) => !used.has(name))).toEqual([])
  })
})
