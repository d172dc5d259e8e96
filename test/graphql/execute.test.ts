import { describe, expect, it } from '@jest/globals'
import { GraphQL, HttpError, type Log } from 'filigree'
import { GraphQLError } from 'graphql'
import { createLibrary, written } from './library.js'

const graphql = createLibrary()

describe('GraphQL language', () => {
  it.each<[string, string, Record<string, unknown>, unknown]>([
    ['a query', '{ book(id: 1) { title } }', {}, { book: { title: 'Emma' } }],
    [
      'a named operation with variables',
      'query Q($id: ID!) { book(id: $id) { id title } }',
      { id: 2 },
      { book: { id: '2', title: 'Walden' } },
    ],
    [
      'fragments and nested objects',
      '{ book(id: 1) { ...B } } fragment B on Book { title author { ...A } } fragment A on Author { name }',
      {},
      { book: { title: 'Emma', author: { name: 'Jane Austen' } } },
    ],
    [
      'aliases, inline fragments and __typename',
      '{ a: book(id: 1) { __typename ... on Book { t: title } } b: book(id: 2) { title } }',
      {},
      { a: { __typename: 'Book', t: 'Emma' }, b: { title: 'Walden' } },
    ],
    [
      '@skip and @include',
      'query ($yes: Boolean!) { book(id: 1) { id @skip(if: $yes) title @include(if: $yes) } echo @skip(if: $yes) }',
      { yes: true },
      { book: { title: 'Emma' } },
    ],
    ['default values', 'query ($t: String = "a") { echo(text: $t) }', {}, { echo: 'a' }],
    ['defaults of arguments', '{ echo }', {}, { echo: 'nothing' }],
    [
      'lists',
      '{ books(limit: 1) { title tags } }',
      {},
      { books: [{ title: 'Emma', tags: ['novel'] }] },
    ],
    ['null where no row is found', '{ book(id: 9) { title } }', {}, { book: null }],
    [
      'introspection',
      '{ __type(name: "Author") { fields { name type { kind ofType { name } } } } }',
      {},
      {
        __type: {
          fields: [
            { name: 'name', type: { kind: 'NON_NULL', ofType: { name: 'String' } } },
            { name: 'books', type: { kind: 'LIST', ofType: { name: null } } },
            { name: 'self', type: { kind: 'OBJECT', ofType: null } },
          ],
        },
      },
    ],
  ])('runs %s', async (_what, query, variables, data) => {
    expect(await graphql.execute(query, variables)).toEqual({ data })
  })

  it('runs a mutation with variables inside nested inputs', async () => {
    written.length = 0
    const query =
      'mutation ($title: String!, $text: String = "why") { addBook(input: { title: $title, notes: [{ text: $text }] }) { title tags } }'
    expect(await graphql.execute(query, { title: 'New' })).toEqual({
      data: { addBook: { title: 'New', tags: ['why'] } },
    })
    expect(written).toEqual(['New'])
  })

  it('runs the mutations of a document one after another', async () => {
    written.length = 0
    await graphql.execute(
      'mutation { a: addBook(input: { title: "1" }) { id } b: addBook(input: { title: "2" }) { id } }',
    )
    expect(written).toEqual(['1', '2'])
  })

  it('runs the named operation', async () => {
    const query = 'query A { echo(text: "a") } query B { echo(text: "b") }'
    expect(await graphql.execute(query, {}, undefined, 'B')).toEqual({ data: { echo: 'b' } })
  })

  it.each([
    [undefined, 'The document has several operations. Give operationName, one of A, B.'],
    ['C', 'The document has no operation named "C".'],
    ['__proto__', 'The document has no operation named "__proto__".'],
  ])('refuses the operation name %s among several', async (name, message) => {
    const query = 'query A { echo(text: "a") } query B { echo(text: "b") }'
    expect(await graphql.execute(query, {}, undefined, name)).toEqual({
      data: null,
      errors: [{ message, extensions: { code: 'OPERATION_NOT_FOUND' } }],
    })
  })

  it('returns an error for a document with only fragments', async () => {
    const { data, errors } = await graphql.execute('fragment A on Book { id }')
    expect(data).toBeNull()
    expect(errors?.[0]?.extensions.code).toBe('GRAPHQL_VALIDATION_FAILED')
  })
})

describe('resolvers', () => {
  it('receive root, arguments and the given context', async () => {
    const resolverCalls: unknown[] = []
    const instance = new GraphQL()
    instance.schema
      .addQuery('a', {
        type: 'A',
        args: { n: 'Int' },
        resolve: (...args) => {
          resolverCalls.push(args.slice(0, 3))
          return { b: 7 }
        },
      })
      .addType('A', { b: { type: 'Int', resolve: (root) => (root as { b: number }).b + 1 } })
    const context = { db: 1 }
    expect(await instance.execute('query ($n: Int) { a(n: $n) { b } }', { n: 3 }, context)).toEqual(
      {
        data: { a: { b: 8 } },
      },
    )
    expect(resolverCalls).toEqual([[undefined, { n: 3 }, context]])
    expect((resolverCalls[0] as unknown[])[2]).toBe(context)
  })

  it('may be methods of the parent value', async () => {
    const instance = new GraphQL()
    instance.schema
      .addType('A', { twice: { type: 'Int', args: { n: 'Int' } } })
      .addQuery('a', { type: 'A', resolve: () => ({ twice: ({ n }: { n: number }) => 2 * n }) })
    expect(await instance.execute('{ a { twice(n: 4) } }')).toEqual({ data: { a: { twice: 8 } } })
  })

  it('are separate for each instance', async () => {
    const one = new GraphQL()
    const two = new GraphQL()
    one.schema.addQuery('who', { type: 'String', resolve: () => 'one' })
    two.schema.addQuery('who', { type: 'String', resolve: () => 'two' })
    expect(await one.execute('{ who }')).toEqual({ data: { who: 'one' } })
    expect(await two.execute('{ who }')).toEqual({ data: { who: 'two' } })
  })
})

describe('errors', () => {
  it('report invalid GraphQL, with data null', async () => {
    expect(await graphql.execute('{ book(')).toEqual({
      data: null,
      errors: [
        {
          message: 'Syntax Error: Expected Name, found <EOF>.',
          locations: [{ line: 1, column: 8 }],
          extensions: { code: 'GRAPHQL_PARSE_FAILED' },
        },
      ],
    })
  })

  it('name the unknown field', async () => {
    const { data, errors } = await graphql.execute('{ book(id: 1) { titel } }')
    expect(data).toBeNull()
    expect(errors).toEqual([
      {
        message: 'Cannot query field "titel" on type "Book". Did you mean "title"?',
        locations: [{ line: 1, column: 17 }],
        extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
      },
    ])
  })

  it.each([
    ['query ($id: ID!) { book(id: $id) { id } }', {}, 'BAD_VARIABLES'],
    ['query ($n: Int) { echo(times: $n) }', { n: 'x' }, 'BAD_VARIABLES'],
    ['query ($n: Int) { books(limit: $n) { id } }', { n: 'x' }, 'BAD_VARIABLES'],
    ['mutation { addBook(input: {}) { id } }', {}, 'GRAPHQL_VALIDATION_FAILED'],
    [
      'mutation ($i: BookInput!) { addBook(input: $i) { id } }',
      { i: { titel: 'a' } },
      'BAD_VARIABLES',
    ],
  ])('refuse %s with %j', async (query, variables, code) => {
    written.length = 0
    const { data, errors } = await graphql.execute(query, variables)
    expect(data).toBeNull()
    expect(new Set(errors?.map(({ extensions }) => extensions.code))).toEqual(new Set([code]))
    expect(written).toEqual([])
  })

  it('name a key that the value does not have, with null and its path', async () => {
    const { data, errors } = await graphql.execute('{ books(limit: 2) { t: title isbn } }')
    expect(data).toEqual({
      books: [
        { t: 'Emma', isbn: null },
        { t: 'Walden', isbn: null },
      ],
    })
    expect(errors?.map(({ message, path, extensions }) => [message, path, extensions])).toEqual([
      [
        'Book.isbn: the parent value has no such property.',
        ['books', 0, 'isbn'],
        { code: 'FIELD_NOT_RESOLVED' },
      ],
      [
        'Book.isbn: the parent value has no such property.',
        ['books', 1, 'isbn'],
        { code: 'FIELD_NOT_RESOLVED' },
      ],
    ])
  })

  it.each(['constructor', 'toString', 'hasOwnProperty'])(
    'ignore inherited members of Object.prototype: %s',
    async (name) => {
      const instance = new GraphQL()
      instance.schema
        .addType('A', { [name]: 'String' })
        .addQuery('a', { type: 'A', resolve: () => ({}) })
      const { data, errors } = await instance.execute(`{ a { ${name} } }`)
      expect(data).toEqual({ a: { [name]: null } })
      expect(errors?.[0]?.extensions.code).toBe('FIELD_NOT_RESOLVED')
    },
  )

  const failing = (failure: Error, options: { maskErrors?: boolean; log?: Log } = {}) => {
    const instance = new GraphQL(options)
    instance.schema
      .addQuery('fails', { type: 'Int', resolve: () => Promise.reject(failure) })
      .addQuery('works', { type: 'Int', resolve: () => 1 })
    return instance.execute('{ fails works }')
  }

  it('of resolvers are reported, and the other fields are there', async () => {
    expect(await failing(new Error('no disk'), { maskErrors: false })).toEqual({
      data: { fails: null, works: 1 },
      errors: [
        {
          message: 'no disk',
          locations: [{ line: 1, column: 3 }],
          path: ['fails'],
          extensions: { code: 'INTERNAL_SERVER_ERROR' },
        },
      ],
    })
  })

  it('of resolvers are masked and logged unless they are for clients', async () => {
    const logged: object[] = []
    const log: Log = {
      error: (details) => logged.push(details),
      warn: () => undefined,
      info: () => undefined,
      debug: () => undefined,
    }
    const failure = new Error('password is 123')
    const { errors } = await failing(failure, { maskErrors: true, log })
    expect(errors?.[0]?.message).toBe('Internal server error')
    expect(logged).toEqual([{ err: failure, path: 'fails', fields: 1 }])
  })

  it.each([
    [new HttpError(404, 'No such book'), 'No such book', { code: 'NOT_FOUND' }],
    [new HttpError(401, 'Unauthorized'), 'Unauthorized', { code: 'UNAUTHENTICATED' }],
    [
      new HttpError(400, 'bad', { errors: [{ path: 'title', code: 'min', message: 'short' }] }),
      'bad',
      { code: 'BAD_REQUEST', errors: [{ path: 'title', code: 'min', message: 'short' }] },
    ],
    [
      new GraphQLError('own', { extensions: { code: 'OWN', more: 1 } }),
      'own',
      { code: 'OWN', more: 1 },
    ],
    [new GraphQLError('own'), 'own', { code: 'EXECUTION_FAILED' }],
  ])(
    'for clients are sent, although errors are masked (%#)',
    async (failure, message, extensions) => {
      const { errors } = await failing(failure, { maskErrors: true })
      expect(errors).toEqual([
        { message, extensions, path: ['fails'], locations: [{ line: 1, column: 3 }] },
      ])
    },
  )

  it('make data null if a required field is null', async () => {
    const instance = new GraphQL({ maskErrors: false })
    instance.schema
      .addQuery('a', { type: 'Int!', resolve: () => null })
      .addQuery('b', { type: 'Int', resolve: () => 1 })
    const { data, errors } = await instance.execute('{ b a }')
    expect(data).toBeNull()
    expect(errors?.[0]).toMatchObject({
      message: 'Cannot return null for non-nullable field Query.a.',
      path: ['a'],
    })
  })
})

describe('handleRequest', () => {
  it('runs a parsed body, and ignores unknown keys', async () => {
    const body = {
      query: 'query A { echo } query B($t: String) { echo(text: $t) }',
      operationName: 'B',
      variables: { t: 'x' },
      formToken: 'y',
    }
    expect(await graphql.handleRequest(body)).toEqual({ data: { echo: 'x' } })
  })

  it.each<[unknown, string]>([
    [undefined, 'The body must be an object with the key "query".'],
    ['{ echo }', 'The body must be an object with the key "query".'],
    [
      [{ query: '{ echo }' }],
      'Lists of operations are not supported. Send one operation as an object.',
    ],
    [{}, 'query is missing.'],
    [{ query: 1 }, 'query must be a string.'],
    [{ query: '{ echo }', variables: [] }, 'variables must be an object.'],
    [{ query: '{ echo }', operationName: 1 }, 'operationName must be a string.'],
    [{ query: '{ echo }', extensions: 'a' }, 'extensions must be an object.'],
  ])('returns an error for %j', async (body, message) => {
    expect(await graphql.handleRequest(body)).toEqual({
      data: null,
      errors: [{ message, extensions: { code: 'BAD_REQUEST' } }],
    })
  })
})

describe('execute with a caller', () => {
  const mutation = 'mutation { addBook(input: { title: "x" }) { title } }'

  it.each([[undefined], [{}], [{ db: 1 }], [{ user: { sub: '7' } }]])(
    'runs a mutation for the context %j',
    async (context) => {
      expect(await graphql.execute(mutation, {}, context)).toEqual({
        data: { addBook: { title: 'x' } },
      })
    },
  )

  it.each([[{ user: null }], [{ user: undefined }]])(
    'refuses a mutation for %j',
    async (context) => {
      written.length = 0
      expect(await graphql.execute(mutation, {}, context)).toEqual({
        data: null,
        errors: [
          { message: 'Unauthorized', path: ['addBook'], extensions: { code: 'UNAUTHENTICATED' } },
        ],
      })
      expect(written).toEqual([])
    },
  )

  it('refuses a query without its role, and runs it with the role', async () => {
    const instance = new GraphQL()
    instance.schema
      .addQuery('open', { type: 'Int', resolve: () => 1 })
      .addQuery('closed', { type: 'Int', secured: 'admin', resolve: () => 2 })
    const run = (roles: string[]) => instance.execute('{ open a: closed }', {}, { user: { roles } })
    expect(await run(['admin'])).toEqual({ data: { open: 1, a: 2 } })
    expect(await run(['clerk'])).toEqual({
      data: null,
      errors: [{ message: 'Forbidden', path: ['a'], extensions: { code: 'FORBIDDEN' } }],
    })
    expect(await instance.execute('{ open }', {}, { user: null })).toEqual({ data: { open: 1 } })
  })
})
