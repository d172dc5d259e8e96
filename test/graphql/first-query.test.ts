import { createRequire } from 'node:module'
import { describe, expect, it } from '@jest/globals'
import { BelongsTo, connect, Field, GraphQL, HasMany, Record } from 'filigree'
import type { GraphQLSchema } from 'graphql'
import { createFirstQuery } from '../../client/ide/first-query.js'

/** The IDE has a copy of its own if its packages are installed. */
const { buildSchema, parse, validate } = createRequire(
  new URL('../../client/ide/first-query.ts', import.meta.url),
)('graphql') as typeof import('graphql')

async function operationOf(schema: GraphQLSchema): Promise<string> {
  const text = await createFirstQuery(schema, () => Promise.resolve(true))
  expect(validate(schema, parse(text))).toEqual([])
  return text.replace(/^#.*\n/gm, '')
}

describe('the first query of the IDE', () => {
  it('reads a list of rows with its first plain fields', async () => {
    const schema = buildSchema(`
      type Query { version: String book(id: ID!): Book author: Author books(limit: Int, offset: Int): [Book!]! }
      type Author { name: String }
      type Book { id: ID! title: String! author: Author notes: [Note!]! old: Int @deprecated a: Int b: Int c: Int d: Int e: Int }
      type Note { text: String }
    `)
    expect(await operationOf(schema)).toBe(`query {
  books(limit: 5) {
    id
    title
    a
    b
    c
    d
  }
}
`)
  })

  it('goes down to the rows of a connection', async () => {
    const schema = buildSchema(`
      type Query { books(first: Int): Connection! }
      type Connection { edges: [Edge!]! pageInfo: PageInfo! }
      type PageInfo { hasNextPage: Boolean! }
      type Edge { node: Book }
      type Book { title: String, author: Author }
      type Author { books: Connection! }
    `)
    expect(await operationOf(schema)).toBe(`query {
  books {
    edges {
      node {
        title
      }
    }
  }
}
`)
  })

  it.each([
    ['type Query { book(id: ID!): String count: Int }', 'query {\n  count\n}\n'],
    ['type Query { book(id: ID!): String }', 'query {\n  __typename\n}\n'],
    [
      'type Query { node: Node text: String } interface Node { id: ID! }',
      'query {\n  node {\n    id\n  }\n}\n',
    ],
    ['type Query { any: Any } union Any = Query', 'query {\n  __typename\n}\n'],
  ])('of %s needs no arguments', async (text, query) => {
    expect(await operationOf(buildSchema(text))).toBe(query)
  })

  it('is one that the visitor may run, or says that it needs a token', async () => {
    const schema = buildSchema('type Query { secrets: [Row!] rows: [Row!] } type Row { id: ID! }')
    const allowed = await createFirstQuery(schema, (query) =>
      Promise.resolve(!query.includes('secrets')),
    )
    expect(allowed).toContain('  rows {')
    expect(allowed).not.toContain('needs a token')
    const refused = await createFirstQuery(schema, () => Promise.resolve(false))
    expect(refused).toContain('# This query needs a token')
    expect(refused).toContain('  secrets {')
  })

  it('runs on the schema of records', async () => {
    @Record
    class Shelf {
      @Field('id') id!: number
      @Field('string') name!: string
      @HasMany(() => Book) books?: Book[]
    }
    @Record
    class Book {
      @Field('id') id!: number
      @Field('string') title!: string
      @Field('integer') shelfId!: number
      @BelongsTo(() => Shelf) shelf?: Shelf
    }
    await using database = await connect('sqlite::memory:', { records: [Shelf, Book] })
    await database.sync()
    await database.records(Shelf).create({ name: 'Novels' })
    const graphql = new GraphQL({ database })
    graphql.schema.fromOrm(Shelf)
    const query = await operationOf(buildSchema(graphql.sdl))
    const { data, errors } = await graphql.execute(query)
    expect({ data: JSON.parse(JSON.stringify(data)), errors }).toEqual({
      data: { shelves: [{ id: '1', name: 'Novels', booksCount: 0 }] },
      errors: undefined,
    })
  })
})
