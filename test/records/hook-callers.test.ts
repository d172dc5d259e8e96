/** The caller that hooks receive, through every interface and in handlers. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  AfterCommit,
  type Application,
  Auth,
  BeforeWrite,
  BelongsTo,
  bootstrap,
  type CommitContext,
  Controller,
  Database,
  Field,
  type Generated,
  HasMany,
  Module,
  Post,
  Record,
  type Rel,
  type WriteContext,
} from 'filigree'
import { startBothEngines } from './both-engines.js'

let committedCallers: unknown[] = []

@Record
class Note {
  @Field('id') id!: number
  @Field('string', { unique: true }) text!: string
  @Field('string', { optional: true, readOnly: true }) by?: string
  @Field('integer', { optional: true, nullable: true }) bookId?: number | null
  @BelongsTo(() => Book) book!: Rel<Book>

  @BeforeWrite()
  sign({ caller }: WriteContext) {
    this.by = caller?.sub ?? 'nobody'
  }

  @AfterCommit()
  recordCaller({ caller }: CommitContext) {
    committedCallers.push(caller?.sub ?? 'nobody')
  }
}

@Record
class Book {
  @Field('id') id!: number
  @Field('string', { default: 'b' }) name!: Generated<string>
  @HasMany(() => Note) notes!: Rel<Note[]>
}

const ways: { [name: string]: (database: Database) => Promise<unknown> } = {
  create: (database) => database.records(Note).create({ text: 'a' }),
  createMany: (database) => database.records(Note).createMany([{ text: 'a' }]),
  insertMany: (database) => database.records(Note).insertMany([{ text: 'a' }]),
  upsert: (database) => database.records(Note).upsert({ text: 'a' }, { by: 'text' }),
  'in a transaction': (database) =>
    database.transaction((tx) => tx.records(Note).create({ text: 'a' })),
  nested: (database) => database.records(Book).create({ notes: { create: [{ text: 'a' }] } }),
  update: (database) => database.records(Note).update(1, { text: 'a' }),
  updateMany: (database) => database.records(Note).updateMany([{ id: 1, text: 'a' }]),
  updateWhere: (database) => database.records(Note).updateWhere({ id: 1 }, { text: 'a' }),
}

@Controller('/notes', { crud: Note })
class Notes {}

@Controller('/books', { crud: Book })
class Books {
  static inject = [Database]
  constructor(private readonly database: Database) {}

  @Post('/way/<name>')
  async way(name: string) {
    await Promise.resolve()
    await ways[name]?.(this.database)
    return { done: true }
  }
}

@Module({ controllers: [Notes, Books], records: [Note, Book] })
class Library {}

const engines = await startBothEngines()

describe.each(engines)('hooks on %s', (_, open) => {
  let app: Application
  let database: Database
  beforeAll(async () => {
    const env = { APP_JWT_SECRET: 'a secret of thirty-two characters', APP_API_KEY: 'key' }
    app = await bootstrap(Library, { listen: false, logger: false, database: await open(), env })
    database = app.get(Database)
  })
  afterAll(() => app.close())
  beforeEach(async () => {
    for (const name of ['note', 'book']) await database.kysely.deleteFrom(name).execute()
    await database.records(Note).create({ id: 1, text: 'first' })
    committedCallers = []
  })

  const sendAs = async (
    user: string,
    method: string,
    url: string,
    json?: object,
  ): Promise<unknown> => {
    const token = user === 'key' ? 'key' : await app.get(Auth).getToken({ sub: user })
    const headers = { Authorization: `Bearer ${token}` }
    const response = await app.inject({ method, url, headers, ...(json && { json }) })
    expect(response.status).toBeLessThan(300)
    return response.json()
  }
  const signed = async (): Promise<string | undefined> =>
    (await database.records(Note).list({ where: { text: 'a' } }))[0]?.by

  it.each(Object.keys(ways))('receive the caller when a handler writes with %s', async (name) => {
    const url = `/books/way/${encodeURIComponent(name)}`
    await sendAs('ada', 'POST', url)
    expect([await signed(), committedCallers]).toStrictEqual(['ada', ['ada']])
  })

  it('receive no caller for the static key, and outside of requests', async () => {
    await sendAs('key', 'POST', '/books/way/create')
    expect([await signed(), committedCallers]).toStrictEqual(['nobody', ['nobody']])
    await database.records(Note).updateWhere({}, { by: 'x' })
    expect(committedCallers).toStrictEqual(['nobody', 'nobody', 'nobody'])
  })

  const mutation = (text: string) =>
    ['POST', '/graphql', { query: `mutation { ${text} }` }] as const
  it.each([
    ['POST', '/notes', { text: 'a' }],
    ['PATCH', '/notes/1', { text: 'a' }],
    ['PUT', '/notes/1', { text: 'a' }],
    ['POST', '/books', { notes: { create: [{ text: 'a' }] } }],
    mutation('createNote(input: { text: "a" }) { id }'),
    mutation('createNotes(input: [{ text: "a" }]) { id }'),
    mutation('updateNote(id: 1, input: { text: "a" }) { id }'),
    mutation('upsertNote(by: text, input: { text: "a" }) { id }'),
  ] as [string, string, object][])('receive the caller of %s %s %j', async (...request) => {
    await sendAs('eve', ...request)
    expect([await signed(), committedCallers]).toStrictEqual(['eve', ['eve']])
  })
})
