import { describe, expect, it } from '@jest/globals'
import { GraphQL, type GraphQLOptions } from 'filigree'
import { createLibrary } from './library.js'

async function run(
  query: string,
  limits: GraphQLOptions['limits'] = {},
  variables: Record<string, unknown> = {},
) {
  const graphql = createLibrary({ limits })
  graphql.schema.build()
  const { data, errors } = await graphql.execute(query, variables)
  return { data, codes: errors?.map(({ extensions }) => extensions.code), errors }
}

const deep = (levels: number): string =>
  `{ book(id: 1) { author ${'{ self '.repeat(levels)} { name } ${'}'.repeat(levels)} } }`

/** A document that grows exponentially: each fragment contains the next one twice. */
const bomb = (fragments: number): string =>
  `{ book(id: 1) { author { ...F0 } } } ${Array.from(
    { length: fragments },
    (_, index) =>
      `fragment F${index} on Author { a: self { ...F${index + 1} } b: self { ...F${index + 1} } }`,
  ).join(' ')} fragment F${fragments} on Author { name }`

describe('limits', () => {
  it.each<[string, string, string]>([
    ['1 MiB of document', `{ echo(text: "${'a'.repeat(1_048_576)}") }`, 'DOCUMENT_TOO_LARGE'],
    ['10 MB of document', `{ echo(text: "${'a'.repeat(10_000_000)}") }`, 'DOCUMENT_TOO_LARGE'],
    ['10,001 lines', `{ echo }${'\n'.repeat(10_000)}`, 'TOO_MANY_TOKENS'],
    ['10,001 lines of comments', `{ echo }${'#\r'.repeat(10_000)}`, 'TOO_MANY_TOKENS'],
    ['2,001 tokens', `{ ${'echo '.repeat(1999)} }`, 'TOO_MANY_TOKENS'],
    ['a name of 1,001 characters', `{ ${'a'.repeat(1001)} }`, 'TOO_MANY_TOKENS'],
    ['200,000 tokens', `{ ${'a '.repeat(200_000)} }`, 'TOO_MANY_TOKENS'],
    ['13 levels', deep(10), 'TOO_DEEP'],
    ['20,000 levels of fields', '{ a '.repeat(20_000), 'TOO_DEEP'],
    ['20,000 levels of lists', `{ echo(text: ${'['.repeat(20_000)}`, 'TOO_DEEP'],
    ['20,000 levels of types', `query ($a: ${'['.repeat(20_000)}`, 'TOO_DEEP'],
    [
      '31 aliases',
      `{ ${Array.from({ length: 31 }, (_, i) => `a${i}: echo`).join(' ')} }`,
      'TOO_MANY_ALIASES',
    ],
    [
      '31 aliases of __typename',
      `{ book(id: 1) { ${Array.from({ length: 31 }, (_, i) => `a${i}: __typename`).join(' ')} } }`,
      'TOO_MANY_ALIASES',
    ],
    ['21 root fields', `{ ${'echo '.repeat(21)} }`, 'TOO_MANY_ROOT_FIELDS'],
    [
      '21 root fields in fragments',
      `{ ...F ...F ... on Query { echo } } fragment F on Query { ${'echo '.repeat(10)} }`,
      'TOO_MANY_ROOT_FIELDS',
    ],
    ['a cost of 5,001', '{ books(limit: 1000) { id title pages tags isbn } }', 'TOO_COSTLY'],
    ['the largest limit', '{ books(limit: 2147483647) { id } }', 'TOO_COSTLY'],
    [
      'lists in lists',
      `{ books(limit: 100) { author { books { id title } name } ${'id '.repeat(50)} } }`,
      'TOO_COSTLY',
    ],
    ['a bomb of 5 fragments', bomb(5), 'TOO_MANY_ALIASES'],
    ['a bomb of 60 fragments', bomb(60), 'TOO_DEEP'],
  ])('refuse %s, and nothing runs', async (_what, query, code) => {
    const { data, codes } = await run(query)
    expect(data).toBeNull()
    expect(codes).toEqual([code])
  })

  it.each<[string, string]>([
    ['fragments that name themselves', '{ book(id: 1) { ...A } } fragment A on Book { ...A }'],
    [
      'a circle of fragments',
      '{ book(id: 1) { ...A } } fragment A on Book { ...B } fragment B on Book { author { ...C } } fragment C on Author { books { ...A } }',
    ],
    ['a fragment that is not there', '{ book(id: 1) { ...constructor ...__proto__ } }'],
    ['a flood of directives', `{ echo ${'@skip(if: false) '.repeat(150)} }`],
    ['a flood of unknown directives', `{ echo ${'@a '.repeat(900)} }`],
    ['a flood of unknown fields', `{ book(id: 1) { ${'x '.repeat(1900)} } }`],
    [
      'deep introspection',
      '{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }',
    ],
  ])('leave to validation %s', async (_what, query) => {
    const { data, codes } = await run(query)
    expect(data).toBeNull()
    expect(new Set(codes)).toEqual(new Set(['GRAPHQL_VALIDATION_FAILED']))
    // Validation stops after a few errors.
    expect(codes?.length).toBeLessThanOrEqual(21)
  })

  it.each<[string, string]>([
    ['12 levels', deep(9)],
    [
      '30 aliases',
      `{ ${Array.from({ length: 2 }, (_, i) => `a${i}: echo`).join(' ')} book(id: 1) { ${Array.from({ length: 28 }, (_, i) => `b${i}: id`).join(' ')} } }`,
    ],
    ['20 root fields', `{ ${'echo '.repeat(20)} }`],
    ['a cost of 5,000', '{ books(limit: 833) { id title pages tags author { name } } }'],
    ['an alias that says the same', `{ book(id: 1) { ${'id: id '.repeat(40)} } }`],
  ])('allow %s', async (_what, query) => {
    const { errors = [] } = await run(query)
    expect(errors.filter(({ path }) => path === undefined)).toEqual([])
  })

  it('allow the introspection of tools', async () => {
    const { getIntrospectionQuery } = await import('graphql')
    const { errors, data } = await run(getIntrospectionQuery())
    expect(errors).toBeUndefined()
    expect(data).toHaveProperty('__schema')
  })

  it.each<[string, string]>([
    [
      'under aliases',
      '{ a: __schema { types { ...FullType } } b: __schema { types { ...FullType } } }',
    ],
    [
      'by types under aliases',
      '{ __schema { types { ...FullType } more: types { ...FullType } } }',
    ],
  ])('refuse the complete introspection twice, %s', async (_what, twice) => {
    const { getIntrospectionQuery } = await import('graphql')
    const text = getIntrospectionQuery()
    const fragments = text.slice(text.indexOf('fragment FullType'))
    const once = '{ __schema { types { ...FullType } } }'
    expect((await run(`${once} ${fragments}`)).errors).toBeUndefined()
    const refused = { data: null, codes: ['TOO_COSTLY'] }
    expect(await run(`${twice} ${fragments}`)).toMatchObject(refused)
    expect((await run(`${twice} ${fragments}`, { cost: Infinity })).errors).toBeUndefined()
  })

  it('report few errors of large variables, all short', async () => {
    const query = 'query ($n: Int, $t: String) { books(limit: $n) { id } echo(text: $t) }'
    const length = async (variables: Record<string, unknown>): Promise<number> => {
      const { codes, errors } = await run(query, {}, variables)
      expect(new Set(codes)).toEqual(new Set(['BAD_VARIABLES']))
      return JSON.stringify(errors).length
    }
    const keys = (count: number): object =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`key${index}`, index]))
    expect(await length({ n: keys(49_000), t: keys(49_000) })).toBeLessThan(10_000)
    expect(await length({ n: 'x'.repeat(500_000) })).toBeLessThan(10_000)
    const { errors } = await run(query, {}, { n: 'x', t: 1 })
    expect(errors?.map(({ message }) => message)).toEqual([
      'Variable "$n" got invalid value "x"; Int cannot represent non-integer value: "x"',
      'Variable "$t" got invalid value 1; String cannot represent a non string value: 1',
    ])
  })

  it.each([
    ['field', (name: string) => `{ books { ${name} } }`],
    ['argument', (name: string) => `{ books(${name}: 1) { id } }`],
    ['value', (name: string) => `{ books(limit: ${name}) { id } }`],
    ['type', (name: string) => `query ($n: ${name}) { books(limit: $n) { id } }`],
    ['fragment', (name: string) => `{ books { ...${name} } }`],
    ['directive', (name: string) => `{ books @${name} { id } }`],
  ])('repeat no long name of a %s', async (_what, query) => {
    const { errors } = await run(query('x'.repeat(500_000)))
    expect(errors).not.toEqual([])
    expect(JSON.stringify(errors).length).toBeLessThan(10_000)
  })

  it('count a limit given as a variable with its value', async () => {
    const query = 'query ($n: Int) { books(limit: $n) { id title pages tags author { name } } }'
    expect((await run(query, {}, { n: 2 })).errors).toBeUndefined()
    expect((await run(query, {}, {})).errors).toBeUndefined()
    expect(await run(query, {}, { n: 5000 })).toMatchObject({ data: null, codes: ['TOO_COSTLY'] })
  })

  it('limit what variables contain, in lists and in objects', async () => {
    const send = async (of: unknown, limits: GraphQLOptions['limits'] = {}): Promise<unknown> => {
      const graphql = new GraphQL({ limits })
      const resolve = (_root: unknown, args: { of: unknown[] }): number => args.of.length
      graphql.schema.addQuery('length', { type: 'Int', args: { of: '[Int]' }, resolve })
      const query = 'query ($of: [Int]) { length(of: $of) }'
      const { data, errors } = await graphql.execute(query, { of })
      return errors?.[0]?.extensions.code ?? data?.length
    }
    const ones = (count: number): number[] => Array.from({ length: count }, () => 1)
    const objects = ones(10_000).map(() => ({}))
    const nested = ones(10_000).map(() => [{ a: [1] }])
    for (const over of [ones(100_000), objects, { objects }, nested])
      expect(await send(over)).toBe('TOO_MANY_VALUES')
    expect(await send(ones(99_980))).toBe(99_980)
    expect(await send(ones(50), { values: 50 })).toBe('TOO_MANY_VALUES')
    expect(await send({ ['k'.repeat(1001)]: 1 })).toBe('TOO_MANY_VALUES')
    expect(await send(ones(100_000), { values: Infinity })).toBe(100_000)
  })

  it.each<[GraphQLOptions['limits'], string]>([
    [{ bytes: 10 }, 'DOCUMENT_TOO_LARGE'],
    [{ tokens: 5 }, 'TOO_MANY_TOKENS'],
    [{ depth: 1 }, 'TOO_DEEP'],
    [{ aliases: 1 }, 'TOO_MANY_ALIASES'],
    [{ rootFields: 1 }, 'TOO_MANY_ROOT_FIELDS'],
    [{ cost: 3 }, 'TOO_COSTLY'],
  ])('can be set: %j', async (limits, code) => {
    const query = '{ a: book(id: 1) { id } b: book(id: 2) { id } }'
    expect((await run(query)).errors).toBeUndefined()
    expect(await run(query, limits)).toMatchObject({ data: null, codes: [code] })
  })

  it('still refuse text that would exhaust the stack when turned off', async () => {
    const off = Infinity
    const limits = { bytes: off, tokens: off, depth: off, aliases: off, rootFields: off, cost: off }
    const chain = Array.from(
      { length: 20_000 },
      (_, i) => `fragment F${i} on Query { ...F${i + 1} }`,
    )
    expect((await run('{ a '.repeat(20_000), limits)).codes).toEqual(['TOO_DEEP'])
    expect((await run(`{ ...F0 } ${chain.join(' ')}`, limits)).data).toBeNull()
  })

  it('are the same while documents are cached and after they were dropped', async () => {
    const graphql = new GraphQL({ cacheBytes: 50_000 })
    graphql.schema.addQuery('echo', {
      type: 'String',
      args: { text: 'String' },
      resolve: (_root, { text }) => text,
    })
    for (let round = 0; round < 3; round++) {
      for (let number = 0; number < 50; number++) {
        const result = await graphql.execute(`{ echo(text: "${number}") }`)
        expect(result).toEqual({ data: { echo: String(number) } })
      }
    }
  })
})
