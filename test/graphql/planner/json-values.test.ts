/** JSON written by statements: each value of each kind as graphql-js sends it, nulls in every position, objects of any width. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { CompiledQuery } from 'kysely'
import {
  BelongsTo,
  Field,
  GraphQL,
  HasMany,
  Record as RecordOf,
  type Rel,
  connect,
  type Database,
} from '../../../src/index.js'
import { execute, parse } from 'graphql'
import { startBothEngines } from '../../records/both-engines.js'
import { countStatements } from './count-statements.js'
import type { Class } from '../../public-types.js'

const options = { optional: true, nullable: true } as const
const odd = ["o'clock", 'say "hi"', 'back\\slash', '']

@RecordOf
class Box {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') label!: string
  @HasMany(() => Value) values!: Rel<Value[]>
}

@RecordOf
class Value {
  @Field('id') id!: number
  @Field('text', options) text?: string | null
  @Field('integer', options) amount?: number | null
  @Field('numeric', options) number?: number | null
  @Field('boolean', options) truth?: boolean | null
  @Field('datetime', options) sentAt?: string | null
  @Field('blob', options) bytes?: Buffer | null
  @Field('json', options) json?: unknown
  @Field('string', { ...options, oneOf: ['red', 'green'], enum: 'Plain', check: false }) plain?:
    string | null
  @Field('string', {
    ...options,
    oneOf: ['red', "o'clock", 'light-blue'],
    enum: 'Named',
    check: false,
  })
  named?: string | null
  @Field('integer', { ...options, oneOf: [1, 2, 30], enum: 'Size', check: false }) size?:
    number | null
  @Field('string', { ...options, list: true }) texts?: string[] | null
  @Field('integer', { ...options, list: true }) amounts?: number[] | null
  @Field('numeric', { ...options, list: true }) numbers?: number[] | null
  @Field('boolean', { ...options, list: true }) truths?: boolean[] | null
  @Field('string', options) boxId?: string | null
  @BelongsTo(() => Box) box?: Rel<Box | null>
}

@RecordOf
class Tin {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('integer') size!: number
}

const controls = Array.from({ length: 31 }, (_, index) => String.fromCharCode(index + 1)).join('')
const examples: Readonly<Record<string, readonly unknown[]>> = {
  text: [...odd, `${controls}\u007f\u0080`, '\u2028\u2029\ufeff\uffff', 'é😀ä', 'null', '","x":"'],
  amount: [0, -1, 2147483647, -2147483648],
  number: [0, -0, 1, -1.5, 1e21, 1e-7, 0.1 + 0.2, 5e-324, 123456789.12345679, 1e15, 1e16],
  truth: [true, false],
  sentAt: ['2026-01-01T00:00:00.000Z', '1999-12-31T23:59:59.999Z'],
  bytes: [
    Buffer.alloc(0),
    Buffer.from([0, 255, 34, 92]),
    Buffer.from(Array.from({ length: 300 }, (_, index) => index % 256)),
  ],
  json: [0, false, '', [], {}, 'null', { 'a"b\\c': [null, 'é\n', 1e21] }],
  plain: ['red', 'green'],
  named: ['red', "o'clock", 'light-blue'],
  size: [1, 2, 30],
  texts: [[], odd, [controls]],
  amounts: [[], [0, -1, 2147483647]],
  numbers: [[], [1e21, 1e-7, 0.5]],
  truths: [[], [true, false]],
}
const names = Object.keys(examples)
const everything = `id ${names.join(' ')} boxId __typename`

/** 120 fields, every third of them null. */
const wideNames = Array.from({ length: 120 }, (_, index) => `field${index}`)
const Wide = { Wide: class {} }.Wide as Class
RecordOf(Wide)
Field('id')(Wide.prototype as object, 'id')
for (const name of wideNames) Field('text', options)(Wide.prototype as object, name)

const records: Class[] = [Box, Value, Wide]

describe.each(await startBothEngines())('JSON written by %s', (engine, open) => {
  let database: Database
  let graphql: GraphQL
  beforeAll(async () => {
    database = await connect(await open(), { records })
    await database.sync()
    graphql = new GraphQL({ database, maskErrors: false, limits: { aliases: 1000, cost: 1e7 } })
    for (const type of records) graphql.schema.fromOrm(type)
    const boxes = await Promise.all(
      ['full', 'of nulls', 'empty'].map((label) => database.records(Box).create({ label })),
    )
    const values = database.records(Value)
    for (const [name, list] of Object.entries(examples))
      for (const value of list) await values.create({ [name]: value, boxId: boxes[0]?.id })
    await values.create({ boxId: boxes[1]?.id })
    await values.create({})
    await values.create(Object.fromEntries(names.map((name) => [name, examples[name]?.[0]])))
    const wide = wideNames.map((name, index) => [name, index % 3 === 0 ? null : `"${name}"`])
    await database.records(Wide).create(Object.fromEntries(wide) as object)
    await database.records(Wide).create({})
    const last = wideNames.map((name, index) => [name, 'x'.repeat(index === 0 ? 100_000 : 10)])
    await database.records(Wide).create(Object.fromEntries(last) as object)
  })
  afterAll(() => database.close())

  /** Runs one statement, and expects the same text from graphql-js. */
  const run = async (text: string) => {
    const { result, count } = await countStatements(database, () =>
      Promise.resolve(graphql.execute(text)),
    )
    const { schema } = graphql.schema.build()
    const resolved = await execute({ schema, document: parse(text) })
    const response = JSON.parse(JSON.stringify(result)) as { data: never; errors?: Failure[] }
    expect(JSON.stringify(response.data)).toBe(JSON.stringify(resolved.data))
    return { ...response, count }
  }

  it.each(names)('is the same for every %s as graphql-js sends it', async (name) => {
    const { count } = await run(
      `{ values(limit: 1000, where: { ${filterOf(name)} }) { id ${name} } }`,
    )
    expect(count).toBe(1)
  })

  it('keeps texts and numbers exactly', async () => {
    const { data } = await run('{ values(limit: 1000) { text number amount } }')
    const rows = (data as { values: Record<string, unknown>[] }).values
    for (const name of ['text', 'number', 'amount'])
      expect(new Set(rows.map((row) => row[name]))).toEqual(
        new Set([null, ...(examples[name] ?? []).map((value) => (value === -0 ? 0 : value))]),
      )
  })

  it('handles null in every position, without losing a row', async () => {
    const rows = Object.values(examples).flat().length + 3
    const { data, count } = await run(`{ values(limit: 1000) { ${everything} box { label id } } }`)
    expect([(data as { values: unknown[] }).values.length, count]).toEqual([rows, 1])
  })

  it('loses no row through a null in a non-null field', async () => {
    const other = await connect(await open(), { records: [Tin] })
    const tins = new GraphQL({ database: other })
    tins.schema.fromOrm(Tin)
    const write = (sql: string) => other.kysely.executeQuery(CompiledQuery.raw(sql))
    await write('create table tin (id integer, name text, size integer)')
    await write("insert into tin values (1, null, 1), (2, 'two', null), (3, null, null)")
    const text = '{ tins { name id size } }'
    expect(JSON.stringify(await tins.execute(text))).toBe(
      '{"data":{"tins":[{"name":null,"id":"1","size":1},{"name":"two","id":"2","size":null},{"name":null,"id":"3","size":null}]}}',
    )
    await write("insert into tin values (null, 'four', 4)")
    const { data } = await tins.execute(text)
    expect((data as { tins: unknown[] }).tins).toHaveLength(4)
    await other.close()
  })

  it.each([
    [
      '{ values(limit: 2) { __typename } }',
      '{"values":[{"__typename":"Value"},{"__typename":"Value"}]}',
    ],
    ['{ values(limit: 2) { id } }', '{"values":[{"id":"1"},{"id":"2"}]}'],
    ['{ wides(limit: 1) { __typename id } }', '{"wides":[{"__typename":"Wide","id":"1"}]}'],
    ['{ wides(limit: 1) { id __typename } }', '{"wides":[{"id":"1","__typename":"Wide"}]}'],
    ['{ wides(limit: 0) { id } }', '{"wides":[]}'],
    ['{ widesPage(first: 1) { __typename } }', '{"widesPage":{"__typename":"WideConnection"}}'],
    ['{ widesPage(first: 1) { totalCount } }', '{"widesPage":{"totalCount":3}}'],
    ['{ wides(limit: 1) { field0 } }', '{"wides":[{"field0":null}]}'],
    [
      '{ widesPage(first: 2) { __typename edges { __typename node { __typename } } pageInfo { __typename } } }',
      '{"widesPage":{"__typename":"WideConnection","edges":[{"__typename":"WideEdge","node":{"__typename":"Wide"}},{"__typename":"WideEdge","node":{"__typename":"Wide"}}],"pageInfo":{"__typename":"PageInfo"}}}',
    ],
    [
      '{ widesPage(first: 1) { edges { node { id } } } }',
      '{"widesPage":{"edges":[{"node":{"id":"1"}}]}}',
    ],
    [
      '{ boxes(where: { label: { eq: "full" } }) { values(limit: 1) { boxId: __typename } } }',
      '{"boxes":[{"values":[{"boxId":"Value"}]}]}',
    ],
  ])('combines %s', async (text, json) => {
    const { data, count } = await run(text)
    expect([JSON.stringify(data), count]).toEqual([json, 1])
  })

  it.each(names)('is complete with %s first, last and alone', async (name) => {
    for (const fields of [`${name} id`, `id ${name}`, name]) {
      const { count } = await run(
        `{ values(limit: 1000) { ${fields} } boxes { values { ${fields} } } }`,
      )
      expect(count).toBe(2)
    }
  })

  it('is null for missing owners, however many are requested', async () => {
    const aliases = Array.from({ length: 12 }, (_, index) => `a${index}: box { label }`).join(' ')
    const { data, count } = await run(
      `{ values(limit: 1000, where: { boxId: { isNull: true } }) { ${aliases} id } }`,
    )
    expect(count).toBe(1)
    const { values } = data as { values: Record<string, unknown>[] }
    expect(values.length).toBe(2)
    for (const value of values)
      expect(Object.values(value).slice(0, 12)).toEqual(Array(12).fill(null))
  })

  it('is empty for missing rows and fields', async () => {
    const { data } = await run(
      `{ values(where: { id: { eq: -1 } }) { id } value(id: -1) { id }
         boxes(where: { label: { eq: "empty" } }) { values { id } }
         bare: boxes { label @skip(if: true) }
         valuesPage(where: { id: { eq: -1 } }) {
           totalCount edges { cursor node { id } } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }`,
    )
    expect(data).toEqual({
      values: [],
      value: null,
      boxes: [{ values: [] }],
      bare: [{}, {}, {}],
      valuesPage: {
        totalCount: 0,
        edges: [],
        pageInfo: {
          startCursor: null,
          endCursor: null,
          hasNextPage: false,
          hasPreviousPage: false,
        },
      },
    })
  })

  it('contains all of 120 fields in their order, also in wide rows', async () => {
    const { data, count } = await run(`{ wides { ${wideNames.join(' ')} id } }`)
    const [first = {}, second = {}, third = {}] = (data as { wides: object[] }).wides
    expect(count).toBe(1)
    expect(Object.keys(first)).toEqual([...wideNames, 'id'])
    expect(Object.values(second)).toEqual([...wideNames.map(() => null), '2'])
    expect(String(Object.values(third)[0])).toHaveLength(100_000)
  })

  it.each(['text', 'amount', 'number', 'truth', 'sentAt', 'named', 'plain'])(
    'reads pages by %s, with nulls and unusual values in cursors',
    async (name) => {
      const found: string[] = []
      let after = 'null'
      for (let hasNext = true; hasNext;) {
        const { data, errors } = JSON.parse(
          JSON.stringify(
            await graphql.execute(
              `{ valuesPage(first: 9, after: ${after}, orderBy: [{ ${name}: asc }]) {
                edges { cursor node { id } } pageInfo { startCursor endCursor hasNextPage } } }`,
            ),
          ),
        ) as { data: { valuesPage: Page }; errors?: unknown }
        expect(errors).toBeUndefined()
        const { edges, pageInfo } = data.valuesPage
        expect([edges[0]?.cursor, edges.at(-1)?.cursor]).toEqual([
          pageInfo.startCursor,
          pageInfo.endCursor,
        ])
        found.push(...edges.map(({ node }) => node.id))
        after = JSON.stringify(pageInfo.endCursor)
        hasNext = pageInfo.hasNextPage
      }
      const all = await run(`{ values(limit: 1000, orderBy: [{ ${name}: asc }]) { id } }`)
      const { values } = all.data as { values: { id: string }[] }
      expect(found).toEqual(values.map(({ id }) => id))
    },
  )

  it.each([
    ['an infinite number', 'number', '9e999', 'Float cannot represent non numeric value: Infinity'],
    ['a value that its enum has not', 'named', "'blue'", 'cannot represent value'],
    ['a value that a plain enum has not', 'plain', `'"'`, 'cannot represent value'],
    ['a number that its enum has not', 'size', '31', 'cannot represent value'],
    ['an Int beyond 32 bits', 'amount', '2147483648', 'non 32-bit signed integer'],
    [
      'an Int beyond 32 bits in a list',
      'amounts',
      `'[1, 2147483648]'`,
      'non 32-bit signed integer',
    ],
  ])('leaves %s to graphql-js, with its message and path', async (_what, name, sql, message) => {
    const literal = sql === '9e999' && engine === 'PostgreSQL' ? `'Infinity'` : sql
    const { id } = await database.records(Value).create({})
    const write = `update value set "${name}" = ${literal} where id = ${String(id)}`
    await database.kysely.executeQuery(CompiledQuery.raw(write))
    try {
      const { errors } = await run(
        `{ values(where: { id: { eq: ${String(id)} } }) { id ${name} text } }`,
      )
      expect(errors?.[0]?.message).toContain(message)
      expect(errors?.[0]?.path.slice(0, 3)).toEqual(['values', 0, name])
    } finally {
      await database.records(Value).delete(id)
    }
  })
})

function filterOf(name: string): string {
  return /^(texts|amounts|numbers|truths|json|bytes)$/.test(name)
    ? ''
    : `${name}: { isNull: false }`
}

interface Failure {
  readonly message: string
  readonly path: readonly unknown[]
}

interface Page {
  readonly edges: { readonly cursor: string; readonly node: { readonly id: string } }[]
  readonly pageInfo: {
    readonly startCursor: string
    readonly endCursor: string
    readonly hasNextPage: boolean
  }
}
