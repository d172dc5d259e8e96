/** A failed statement is not repeated, except for a value that GraphQL cannot represent: graphql-js reports its position. */
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
import { type EngineErrorKind } from '../../../src/engines/contract/engine-error.js'
import { bothEngines } from '../../records/both-engines.js'
import { startPostgres } from '../../records/postgres-server.js'
import { countStatements } from './count-statements.js'
import { internalsOf, EngineError } from '../../records/open-database.js'

@RecordOf
class Shelf {
  @Field('id') id!: number
  @Field('string') label!: string
  @HasMany(() => Book) books!: Rel<Book[]>
}

@RecordOf
class Book {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('integer') pages!: number
  @Field('integer') shelfId!: number
  @BelongsTo(() => Shelf) shelf?: Rel<Shelf>
}

const records = [Shelf, Book]
const server = await startPostgres()
afterAll(() => server.close())

/** Every kind of query that one statement answers. */
const questions = [
  '{ books { title } }',
  '{ book(id: 1) { title } }',
  '{ bookCount }',
  '{ booksPage(first: 1) { totalCount edges { node { title } } } }',
  '{ shelves { label books { title } } }',
]

interface Failure {
  readonly message: string
  readonly path: readonly unknown[]
}

describe.each(bothEngines(server))('a failed query on %s', (engine, open) => {
  let database: Database
  let graphql: GraphQL
  const change = (sql: string) => database.kysely.executeQuery(CompiledQuery.raw(sql))
  beforeAll(async () => {
    database = await connect(await open(), { records })
    await database.sync()
    graphql = new GraphQL({ database })
    for (const type of records) graphql.schema.fromOrm(type)
    const shelf = await database.records(Shelf).create({ label: 'Top' })
    await database.records(Book).create({ title: 'Dune', pages: 412, shelfId: shelf.id })
  })
  afterAll(() => database.close())

  const run = async (text: string) => {
    const { result, count } = await countStatements(database, () =>
      Promise.resolve(graphql.execute(text)),
    )
    const { errors = [] } = JSON.parse(JSON.stringify(result)) as { errors?: Failure[] }
    return { count, errors }
  }
  const rootOf = (text: string): string => /\w+/.exec(text)?.[0] ?? ''

  it.each(questions)('with a missing column is not repeated: %s', async (text) => {
    await change('alter table book rename column title to name')
    await change('alter table shelf rename column label to name')
    try {
      const { count, errors } = await run(text)
      // A count reads no column.
      if (text === '{ bookCount }') expect([count, errors]).toEqual([1, []])
      else expect([count, errors.map(({ path }) => path)]).toEqual([1, [[rootOf(text)]]])
    } finally {
      await change('alter table book rename column name to title')
      await change('alter table shelf rename column name to label')
    }
  })

  it.each(questions)('with a missing table is not repeated: %s', async (text) => {
    await change('alter table book rename to gone')
    try {
      const { count, errors } = await run(text)
      expect([count, errors.map(({ path }) => path)]).toEqual([1, [[rootOf(text)]]])
    } finally {
      await change('alter table gone rename to book')
    }
  })

  const kinds: readonly (readonly [EngineErrorKind, string])[] = [
    ['unavailable', 'The database is not available at the moment.'],
    ['conflict', 'Other requests changed the same records at the same time. Try again.'],
    ['value', 'A value does not fit the record.'],
    ['overflow', 'It failed.'],
    ['other', 'It failed.'],
  ]
  it.each(kinds)('of the kind %s returns its error', async (kind, message) => {
    const { engine: faultyEngine } = internalsOf(database).context
    let count = 0
    const fail = () => {
      count++
      return Promise.reject(new EngineError(kind, 'It failed.'))
    }
    const run = faultyEngine.run.bind(faultyEngine)
    faultyEngine.run = fail
    try {
      for (const text of questions) {
        const { errors } = JSON.parse(JSON.stringify(await graphql.execute(text))) as {
          errors: Failure[]
        }
        expect(errors.map((one) => [one.message, one.path])).toEqual([[message, [rootOf(text)]]])
      }
      expect(count).toBe(questions.length)
    } finally {
      faultyEngine.run = run
    }
  })

  it('for a value that GraphQL cannot represent runs once more, by graphql-js', async () => {
    await change('alter table book rename column pages to narrow')
    await change('alter table book add column pages bigint')
    await change('update book set pages = 4294967296')
    try {
      const { count, errors } = await run('{ books { pages } }')
      expect([count, errors.map(({ path }) => path)]).toEqual([2, [['books', 0, 'pages']]])
    } finally {
      await change('alter table book drop column pages')
      await change('alter table book rename column narrow to pages')
    }
  })

  if (engine === 'PostgreSQL')
    it.each(questions)('after a timeout is not repeated: %s', async (text) => {
      const url = new URL(await open())
      const holder = await connect(url.href, { records })
      await holder.sync()
      url.searchParams.set('lock_timeout', '100')
      const hasty = await connect(url.href, { records })
      const hastyGraphql = new GraphQL({ database: hasty })
      for (const type of records) hastyGraphql.schema.fromOrm(type)
      await holder.transaction(async (tx) => {
        const lock = 'lock table book in access exclusive mode'
        await tx.kysely.executeQuery(CompiledQuery.raw(lock))
        const { result, count } = await countStatements(hasty, () =>
          Promise.resolve(hastyGraphql.execute(text)),
        )
        const { errors } = JSON.parse(JSON.stringify(result)) as { errors: Failure[] }
        const messages = errors.map(({ message }) => message)
        expect([count, messages]).toEqual([1, ['The database is not available at the moment.']])
      })
      await hasty.close()
      await holder.close()
    })
})
