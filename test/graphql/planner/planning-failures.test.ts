/** A mistake of the planner is logged with the query. In production resolvers run the field, elsewhere it fails. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
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
import { silentLog } from '../../../src/core/log.js'
import { generatedOf, type RelationModel } from '../../../src/graphql/records/model.js'
import { internalsOf } from '../../records/open-database.js'
import { countStatements } from './count-statements.js'

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
  @Field('integer') shelfId!: number
  @BelongsTo(() => Shelf) shelf?: Rel<Shelf>
}

let database: Database
beforeAll(async () => {
  database = await connect('sqlite::memory:', { records: [Shelf, Book] })
  await database.sync()
  const shelf = await database.records(Shelf).create({ label: 'Top' })
  await database.records(Book).create({ title: 'Dune', shelfId: shelf.id })
})
afterAll(() => database.close())

const lines: { readonly message: string; readonly query?: unknown; readonly err?: unknown }[] = []
beforeEach(() => {
  lines.length = 0
})
const error = (fields: object, message: string): void => {
  lines.push({ ...fields, message })
}

function bound(production: boolean): GraphQL {
  const graphql = new GraphQL()
  for (const type of [Shelf, Book]) graphql.schema.fromOrm(type)
  const log = { ...silentLog, error }
  graphql.bind({ database: internalsOf(database), log, production })
  return graphql
}

const mistake = new TypeError('It is not a function.')

/** The next reader of a filter on books is the planner's, and fails. */
function failNextPlan(graphql: GraphQL): void {
  const field = graphql.schema.build().schema.getQueryType()?.getFields().books
  const generated = field && generatedOf(field)
  if (generated?.kind !== 'list') throw new Error('books is not a list.')
  const relations = generated.model.relations as Map<string, RelationModel>
  relations.get = () => {
    Reflect.deleteProperty(relations, 'get')
    throw mistake
  }
}

describe('a mistake of the planner', () => {
  it('is logged with the query in production, and resolvers run the field', async () => {
    const graphql = bound(true)
    failNextPlan(graphql)
    const { data, errors } = await graphql.execute(
      'query First { books(where: { title: { eq: "Dune" } }) { title } }',
    )
    expect([data, errors]).toEqual([{ books: [{ title: 'Dune' }] }, undefined])
    expect(lines).toEqual([
      {
        err: mistake,
        query: 'query First {\n  books(where: {title: {eq: "Dune"}}) {\n    title\n  }\n}',
        message: 'GraphQL: the planner failed, so resolvers run the query, which is slower',
      },
    ])
  })

  it('fails the field elsewhere', async () => {
    const graphql = bound(false)
    failNextPlan(graphql)
    const { data, errors } = await graphql.execute(
      '{ books(where: { title: { eq: "Dune" } }) { title } shelfCount }',
    )
    expect(data).toEqual({ books: null, shelfCount: 1 })
    expect(errors?.map(({ message, path }) => [message, path])).toEqual([
      [mistake.message, ['books']],
    ])
    expect(lines[0]).toMatchObject({ err: mistake })
  })
})

describe('a refusal of arguments', () => {
  it('of a root field is reported without a run of the resolvers', async () => {
    const graphql = bound(false)
    const { result, count } = await countStatements(database, () =>
      Promise.resolve(graphql.execute('{ books(limit: -1) { title } }')),
    )
    expect(count).toBe(0)
    expect(result).toMatchObject({ data: { books: null }, errors: [{ path: ['books'] }] })
    expect(lines).toEqual([])
  })

  it('of a relation is reported by resolvers, for each row', async () => {
    const graphql = bound(false)
    const query = '{ shelves { label books(limit: -1) { title } } }'
    expect(await graphql.execute(query)).toMatchObject({
      data: { shelves: [{ label: 'Top', books: null }] },
      errors: [{ path: ['shelves', 0, 'books'] }],
    })
    expect(lines).toEqual([])
  })
})
