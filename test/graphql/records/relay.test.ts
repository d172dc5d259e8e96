import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { GraphQLObjectType } from 'graphql'
import {
  BelongsTo,
  connect,
  type Database,
  Field,
  fromGlobalId,
  GraphQL,
  HasMany,
  ManyToMany,
  Record,
  type Rel,
  Resolve,
  Secured,
  toGlobalId,
} from '../../../src/index.js'
import { startBothEngines } from '../../records/both-engines.js'

@Record
class Shelf {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Book) books!: Rel<Book[]>
  @HasMany(() => Note) notes!: Rel<Note[]>
}

@Record({ rows: (user) => (user === null ? { open: true } : true) })
class Book {
  @Field('id', { key: 'uuid' }) code!: string
  @Field('string') title!: string
  @Field('integer', { optional: true, nullable: true }) year?: number | null
  @Field('boolean', { default: true }) open!: boolean
  @Field('integer', { optional: true, nullable: true }) shelfId?: number | null
  @BelongsTo(() => Shelf) shelf!: Rel<Shelf>
  @ManyToMany(() => Writer) writers!: Rel<Writer[]>
  // A field that no statement can compute.
  @Resolve('String', { needs: ['title'] })
  shout(): string {
    return this.title.toUpperCase()
  }
}

@Record
class Writer {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Record
@Secured('admin')
class Note {
  @Field('id') id!: number
  @Field('string') text!: string
  @Field('integer') shelfId!: number
}

const records = [Shelf, Book, Writer, Note]
const codes = [1, 2, 3, 4, 5, 6].map((n) => `00000000-0000-4000-8000-00000000000${n}`)
const years = [1999, null, 2001, 2001, null, 2005]
const book = (n: number): string => toGlobalId('Book', codes[n - 1] as string)
const shelf = toGlobalId('Shelf', 1)
const program = {}
const visitor = { user: null }

type Data = { readonly [key: string]: never } | null

describe.each(await startBothEngines())('Relay on %s', (_name, open) => {
  let database: Database
  let graphql: GraphQL

  beforeAll(async () => {
    database = await connect(await open(), { records })
    await database.sync()
    graphql = new GraphQL({ database, relay: true, maskErrors: false })
    for (const type of records) graphql.schema.fromOrm(type)
    await database.records(Shelf).create({ name: 'Wall' })
    await database.records(Writer).create({ name: 'Ada' })
    await database.records(Note).create({ text: 'hidden', shelfId: 1 })
    for (const [index, code] of codes.entries()) {
      const rest = { title: `t${index + 1}`, year: years[index] ?? null, open: index !== 5 }
      await database.records(Book).create({ code, shelfId: index < 3 ? 1 : null, ...rest })
    }
    await database.records(Book).link(codes[0] as string, 'writers', [1])
  })
  afterAll(() => database.close())

  async function execute(
    text: string,
    variables = {},
    context: object = program,
  ): Promise<unknown> {
    const { data, errors } = await graphql.execute(text, variables, context)
    if (errors !== undefined) throw new Error(errors.map((one) => one.message).join('; '))
    return data
  }

  /** Runs the selection by one statement, and by resolvers when `shout` is requested as well. */
  async function bothWays(selection: string, variables = {}, context?: object): Promise<unknown> {
    const planned = await execute(selection.replaceAll('SHOUT', ''), variables, context)
    const resolved = await execute(selection.replaceAll('SHOUT', 'shout'), variables, context)
    const plain: unknown = JSON.parse(
      JSON.stringify(resolved, (key, value: unknown) => (key === 'shout' ? undefined : value)),
    )
    expect(plain).toEqual(planned)
    return planned
  }

  it('gives every record an id of its type, and foreign keys likewise', async () => {
    const query = `{ books(limit: 1) { id shelfId SHOUT shelf { id } writers { id } } }`
    expect(await bothWays(query)).toEqual({
      books: [
        {
          id: book(1),
          shelfId: shelf,
          shelf: { id: shelf },
          writers: [{ id: toGlobalId('Writer', 1) }],
        },
      ],
    })
    const ofNone = `query ($id: ID) { book(id: $id) { id shelfId SHOUT } }`
    expect(await bothWays(ofNone, { id: book(4) })).toEqual({
      book: { id: book(4), shelfId: null },
    })
    expect(fromGlobalId(book(1))).toEqual({ type: 'Book', id: codes[0] })
  })

  const node = `query ($id: ID!) { node(id: $id) {
    __typename id ... on Book { title shelf { name } SHOUT } ... on Shelf { name books(limit: 1) { title ... on Node { id } } } } }`

  it('finds any record by its id', async () => {
    expect(await bothWays(node, { id: book(2) })).toEqual({
      node: { __typename: 'Book', id: book(2), title: 't2', shelf: { name: 'Wall' } },
    })
    expect(await bothWays(node, { id: shelf })).toEqual({
      node: { __typename: 'Shelf', id: shelf, name: 'Wall', books: [{ title: 't1', id: book(1) }] },
    })
  })

  it.each([
    ['a row that is not there', toGlobalId('Shelf', 99)],
    ['a type that is not there', toGlobalId('Nobody', 1)],
    ['a key that is none', toGlobalId('Shelf', 'x')],
    ['a key as the database has it', '1'],
    ['other text', 'ümlaut'],
    ['the same id in another spelling', `${shelf.replace(/=+$/, '')} `],
  ])('returns null for %s', async (_what, id) => {
    expect(await bothWays(node, { id })).toEqual({ node: null })
    expect(await execute('query ($id: ID) { shelf(id: $id) { name } }', { id })).toEqual({
      shelf: null,
    })
  })

  it('returns null for an id of another type, and changes nothing', async () => {
    const id = toGlobalId('Writer', 1)
    expect(await execute('query ($id: ID) { shelf(id: $id) { name } }', { id })).toEqual({
      shelf: null,
    })
    const { data, errors } = await graphql.execute(
      `mutation ($id: ID!) { updateShelf(id: $id, input: { name: "x" }) { id } deleteShelf(id: $id) deleteShelfs: deleteShelves(ids: [$id]) }`,
      { id },
    )
    expect(data).toEqual({ updateShelf: null, deleteShelf: false, deleteShelfs: 0 })
    expect(errors).toMatchObject([{ extensions: { code: 'NOT_FOUND' } }])
  })

  it('requires the rights of the record for every way of reading it', async () => {
    expect(await bothWays(node, { id: book(6) }, visitor)).toEqual({ node: null })
    const secret = await graphql.execute(
      'query ($id: ID!) { node(id: $id) { id ... on Note { text } } }',
      { id: toGlobalId('Note', 1) },
      visitor,
    )
    expect(secret.data).toEqual({ node: null })
    expect(secret.errors).toMatchObject([
      { path: ['node'], extensions: { code: 'UNAUTHENTICATED' } },
    ])
    const ids = [book(6), toGlobalId('Note', 1), book(1)]
    const many = await graphql.execute(
      'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }',
      { ids },
      visitor,
    )
    expect(many.data).toEqual({ nodes: [null, null, { id: book(1) }] })
    expect(many.errors).toMatchObject([{ path: ['nodes', 1] }])
  })

  it('finds several, in their order, up to a limit', async () => {
    const ids = [book(2), shelf, 'none', book(1), book(2)]
    const query =
      'query ($ids: [ID!]!) { nodes(ids: $ids) { id ... on Book { title shelf { id } } } }'
    const of = (n: number): object => ({ id: book(n), title: `t${n}`, shelf: { id: shelf } })
    expect(await execute(query, { ids })).toEqual({
      nodes: [of(2), { id: shelf }, null, of(1), of(2)],
    })
    const tooMany = Array.from({ length: 1001 }, () => shelf)
    const refused = await graphql.execute('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', {
      ids: tooMany,
    })
    expect(refused.errors).toMatchObject([{ message: 'ids must have at most 1000 items' }])
  })

  it('accepts ids in filters', async () => {
    const titles = async (where: object): Promise<unknown> =>
      bothWays('query ($where: BookWhere) { books(where: $where) { title SHOUT } }', { where })
    const of = (...found: number[]): object => ({ books: found.map((n) => ({ title: `t${n}` })) })
    expect(await titles({ shelfId: { eq: shelf } })).toEqual(of(1, 2, 3))
    expect(await titles({ id: { in: [book(4), book(2)] } })).toEqual(of(2, 4))
    expect(await titles({ shelfId: { eq: null } })).toEqual(of(4, 5, 6))
    expect(await titles({ writers: { id: { eq: toGlobalId('Writer', 1) } } })).toEqual(of(1))
    expect(await titles({ not: { shelf: { id: { eq: shelf } } } })).toEqual(of(4, 5, 6))
    await expect(titles({ shelfId: { eq: '1' } })).rejects.toThrow(
      'where.shelfId.eq must be the id of a Shelf',
    )
    await expect(titles({ id: { in: [shelf] } })).rejects.toThrow('must be the id of a Book')
  })

  it('accepts ids in inputs, and sends them in change events', async () => {
    const events = (await graphql.subscribe(
      'subscription { bookChanged { id book { title } } }',
    )) as AsyncIterableIterator<unknown>
    const create = `mutation ($input: BookInput) { createBook(input: $input) { id shelfId SHOUT writers { id } } }`
    const input = { title: 'new', shelfId: shelf, writerIds: [toGlobalId('Writer', 1)] }
    const created = (await execute(create.replace('SHOUT', ''), { input })) as Data
    const { id } = created?.createBook as unknown as { id: string }
    expect(created).toEqual({
      createBook: { id, shelfId: shelf, writers: [{ id: toGlobalId('Writer', 1) }] },
    })
    expect((await events.next()).value).toMatchObject({
      data: { bookChanged: { id, book: { title: 'new' } } },
    })
    await events.return?.()
    const change =
      'mutation ($id: ID!, $input: BookInput) { updateBook(id: $id, input: $input) { id title shelfId } }'
    expect(await execute(change, { id, input: { title: 'newer', shelfId: null } })).toEqual({
      updateBook: { id, title: 'newer', shelfId: null },
    })
    const many = 'mutation ($input: [BookChanges!]!) { updateBooks(input: $input) { id title } }'
    expect(await execute(many, { input: [{ id, title: 'newest' }] })).toEqual({
      updateBooks: [{ id, title: 'newest' }],
    })
    await expect(execute(create, { input: { title: 'x', shelfId: book(1) } })).rejects.toThrow()
    const wrong = await graphql.execute(create.replace('SHOUT', ''), {
      input: { title: 'x', shelfId: book(1) },
    })
    expect(wrong.errors).toMatchObject([
      {
        extensions: {
          errors: [{ path: 'input.shelfId', message: 'input.shelfId must be the id of a Shelf' }],
        },
      },
    ])
    expect(
      await execute('mutation ($ids: [ID!]!) { deleteBooks(ids: $ids) }', { ids: [id, shelf] }),
    ).toEqual({
      deleteBooks: 1,
    })
  })

  const page = `query ($first: Int, $after: String, $last: Int, $before: String, $orderBy: [BookOrder!]) {
    booksPage(first: $first, after: $after, last: $last, before: $before, orderBy: $orderBy) {
      edges { cursor node { title SHOUT } }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`
  interface Page {
    readonly edges: readonly {
      readonly cursor: string
      readonly node: { readonly title: string }
    }[]
    readonly pageInfo: {
      readonly hasNextPage: boolean
      readonly hasPreviousPage: boolean
      readonly startCursor: string | null
      readonly endCursor: string | null
    }
  }
  const pageOf = async (args: object): Promise<Page> => {
    const { booksPage } = (await bothWays(page, args)) as { booksPage: Page }
    const { edges, pageInfo } = booksPage
    expect(pageInfo.startCursor).toBe(edges[0]?.cursor ?? null)
    expect(pageInfo.endCursor).toBe(edges.at(-1)?.cursor ?? null)
    return booksPage
  }
  const orders = [[[]], [[{ year: 'asc' }]], [[{ year: 'desc_nulls_first' }, { title: 'desc' }]]]

  it.each(orders)('reads pages from both ends, by %j', async (orderBy) => {
    const all = await pageOf({ first: 100, orderBy })
    const titles = all.edges.map(({ node: { title } }) => title)
    expect(titles).toHaveLength(6)
    const cursors = all.edges.map(({ cursor }) => cursor)
    const range = (from: number, to: number): readonly string[] => titles.slice(from, to)
    // Every position of both cursors, from each end, compared with the complete list.
    for (let after = -1; after < 6; after++) {
      for (let before = after + 1; before <= 6; before++) {
        const between = { after: cursors[after] ?? null, before: cursors[before] ?? null }
        const front = await pageOf({ first: 2, orderBy, ...between })
        expect(front.edges.map(({ node: { title } }) => title)).toEqual(
          range(after + 1, Math.min(before, after + 3)),
        )
        expect(front.pageInfo.hasNextPage).toBe(before - after - 1 > 2)
        expect(front.pageInfo.hasPreviousPage).toBe(after >= 0)
        const back = await pageOf({ last: 2, orderBy, ...between })
        expect(back.edges.map(({ node: { title } }) => title)).toEqual(
          range(Math.max(after + 1, before - 2), before),
        )
        expect(back.pageInfo.hasPreviousPage).toBe(before - after - 1 > 2)
        expect(back.pageInfo.hasNextPage).toBe(before < 6)
      }
    }
  })

  it('refuses first with last, and invalid cursors', async () => {
    await expect(execute('{ booksPage(first: 1, last: 1) { totalCount } }')).rejects.toThrow(
      'last cannot be combined with first',
    )
    await expect(execute('{ booksPage(last: 1, before: "x") { totalCount } }')).rejects.toThrow(
      'before is not a cursor of this list in this order',
    )
    await expect(execute('{ booksPage(last: 1001) { totalCount } }')).rejects.toThrow(
      'last must be at most 1000',
    )
    await expect(execute('{ booksPage(last: -1) { totalCount } }')).rejects.toThrow(
      'last must be an integer',
    )
  })

  it('groups by foreign keys, and has no sums of ids', async () => {
    const query = '{ booksAggregate(groupBy: [shelfId]) { shelfId count min { year } } }'
    expect(await execute(query.replace('[shelfId]', '["shelfId"]'))).toMatchObject({
      booksAggregate: [{ shelfId: shelf, count: 3 }, { shelfId: null }],
    })
    expect(graphql.sdl).not.toMatch(/sumShelfId|maxId/)
  })
})

it('has the schema that Relay requires', async () => {
  const database = await connect('sqlite::memory:', { records })
  const graphql = new GraphQL({ database, relay: true })
  graphql.schema.fromOrm(Shelf)
  const { schema } = graphql.schema.build()
  const typeOf = (type: string, field: string): string =>
    String((schema.getType(type) as GraphQLObjectType).getFields()[field]?.type)
  const argsOf = (field: string): Record<string, string> =>
    Object.fromEntries(
      schema
        .getQueryType()
        ?.getFields()
        [field]?.args.map(({ name, type }) => [name, String(type)]) ?? [],
    )
  expect([typeOf('Query', 'node'), argsOf('node')]).toEqual(['Node', { id: 'ID!' }])
  expect([typeOf('Query', 'nodes'), argsOf('nodes')]).toEqual(['[Node]!', { ids: '[ID!]!' }])
  expect(argsOf('booksPage')).toMatchObject({
    first: 'Int',
    after: 'String',
    last: 'Int',
    before: 'String',
  })
  const pageInfo = ['hasNextPage', 'hasPreviousPage', 'startCursor', 'endCursor']
  expect(pageInfo.map((field) => typeOf('PageInfo', field))).toEqual([
    'Boolean!',
    'Boolean!',
    'String',
    'String',
  ])
  expect(typeOf('BookConnection', 'edges')).toBe('[BookEdge!]')
  expect(typeOf('BookConnection', 'pageInfo')).toBe('PageInfo!')
  for (const { name } of records) {
    expect((schema.getType(name) as GraphQLObjectType).getInterfaces().map(String)).toEqual([
      'Node',
    ])
    expect(typeOf(name, 'id')).toBe('ID!')
  }
  await database.close()
})

it('changes nothing where Relay is not enabled', async () => {
  const database = await connect('sqlite::memory:', { records })
  const graphql = new GraphQL({ database })
  graphql.schema.fromOrm(Shelf)
  expect(graphql.sdl).not.toMatch(/Node\b|nodes?\(/)
  expect(graphql.sdl).toContain('code: ID!')
  await database.close()
})

it('counts a row for each id of nodes, and for the last ones of a page', async () => {
  const database = await connect('sqlite::memory:', { records: [Writer] })
  await database.sync()
  const graphql = new GraphQL({ database, relay: true, limits: { cost: 20 } })
  graphql.schema.fromOrm(Writer)
  const ids = Array.from({ length: 30 }, () => toGlobalId('Writer', 1))
  const many = await graphql.execute('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids })
  expect(many.errors).toMatchObject([{ extensions: { code: 'TOO_COSTLY' } }])
  const page = await graphql.execute('{ writersPage(last: 30) { edges { cursor } } }')
  expect(page.errors).toMatchObject([{ extensions: { code: 'TOO_COSTLY' } }])
  const few = await graphql.execute('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', {
    ids: ids.slice(0, 3),
  })
  expect(few.errors).toBeUndefined()
  await database.close()
})
