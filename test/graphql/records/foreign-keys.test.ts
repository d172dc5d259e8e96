/** Foreign keys in GraphQL are `ID`, like the keys that they refer to. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  type Application,
  Auth,
  BelongsTo,
  bootstrap,
  connect,
  type Database,
  Field,
  HasMany,
  Module,
  Record,
  type Rel,
} from '../../../src/index.js'
import { startBothEngines } from '../../records/both-engines.js'

@Record
class Shelf {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Book) books!: Rel<Book[]>
}

@Record
class Place {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') name!: string
}

@Record
class Book {
  @Field('id') id!: number
  @Field('integer', { optional: true, nullable: true }) shelfId?: number | null
  @BelongsTo(() => Shelf) shelf!: Rel<Shelf | null>
  @Field('uuid', { optional: true, nullable: true }) placeId?: string | null
  @BelongsTo(() => Place) place!: Rel<Place | null>
}

const records = [Shelf, Place, Book]

@Module({ records })
class Library {}

/** A key of more than the 32 bits of `Int`. */
const large = 3_000_000_000

describe.each(await startBothEngines())('foreign keys in GraphQL on %s', (_name, open) => {
  let app: Application
  let database: Database
  let token: string
  let place: string

  beforeAll(async () => {
    database = await connect(await open(), { records })
    await database.sync()
    app = await bootstrap(Library, { database, listen: false, logger: false })
    token = await app.get(Auth).getToken({ sub: 'ann' })
    await database.records(Shelf).insertMany([{ id: large, name: 'a' }])
    place = (await database.records(Place).create({ name: 'p' })).id
    await database.records(Book).createMany([{ shelfId: large, placeId: place }, { shelfId: null }])
  })

  afterAll(async () => {
    await app.close()
    await database.close()
  })

  const execute = async (query: string, variables: object = {}): Promise<unknown> => {
    const json = { query, variables }
    const response = await app.inject({ method: 'POST', url: '/graphql', json, token })
    return response.json()
  }

  it('are ids in types, inputs and filters', async () => {
    const of = (name: string): string =>
      `{ __type(name: "${name}") { fields { name type { name } } inputFields { name type { name } } } }`
    const typeOf = async (name: string): Promise<unknown> => {
      const { data } = (await execute(of(name))) as {
        data: { __type: { [list: string]: { name: string; type: { name: string } }[] | null } }
      }
      const all = data.__type.fields ?? data.__type.inputFields ?? []
      return all.filter((field) => /Id$/.test(field.name)).map(({ type }) => type.name)
    }
    expect(await typeOf('Book')).toEqual(['ID', 'ID'])
    expect(await typeOf('BookInput')).toEqual(['ID', 'ID'])
    expect(await typeOf('BookWhere')).toEqual(['IDFilter', 'IDFilter'])
  })

  it.each(['', ' shelf { ok: name }'])('are texts in responses (with%s)', async (more) => {
    const rows = [
      { shelfId: String(large), placeId: place, ...(more !== '' && { shelf: { ok: 'a' } }) },
      { shelfId: null, placeId: null, ...(more !== '' && { shelf: null }) },
    ]
    expect(await execute(`{ books { shelfId placeId${more} } }`)).toEqual({ data: { books: rows } })
  })

  it('are texts in resolvers', async () => {
    const { data } = (await execute(
      '{ books(orderBy: [{ id: asc }]) { shelfId } book(id: 9) { id } b: books(where: { id: { eq: "x" } }) { id } }',
    )) as { data: { books: unknown } }
    expect(data.books).toEqual([{ shelfId: String(large) }, { shelfId: null }])
  })

  it('are found and written by ids', async () => {
    const find = 'query ($where: BookWhere) { books(where: $where) { id } }'
    for (const shelfId of [{ eq: String(large) }, { eq: large }, { in: [String(large)] }])
      expect(await execute(find, { where: { shelfId } })).toEqual({
        data: { books: [{ id: '1' }] },
      })
    expect(await execute(find, { where: { placeId: { eq: place } } })).toEqual({
      data: { books: [{ id: '1' }] },
    })
    const create =
      'mutation ($input: BookInput) { createBook(input: $input) { shelfId placeId shelf { name } } }'
    for (const shelfId of [String(large), large])
      expect(await execute(create, { input: { shelfId, placeId: place } })).toEqual({
        data: { createBook: { shelfId: String(large), placeId: place, shelf: { name: 'a' } } },
      })
    expect(await execute(create, { input: { shelfId: 'x' } })).toMatchObject({
      errors: [{ extensions: { code: 'VALIDATION', errors: [{ path: 'input.shelfId' }] } }],
    })
    expect(await execute('{ booksAggregate(groupBy: [shelfId]) { shelfId count } }')).toEqual({
      data: {
        booksAggregate: [
          { shelfId: String(large), count: 3 },
          { shelfId: null, count: 1 },
        ],
      },
    })
  })
})
