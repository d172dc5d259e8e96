/** The cost limit of `with=`. Related rows are counted before they are read, even if averages are low. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { CompiledQuery } from 'kysely'
import {
  BelongsTo,
  bootstrap,
  connect,
  Controller,
  Field,
  HasMany,
  ManyToMany,
  Module,
  NoAuth,
  Record,
  type Application,
  type Database,
  type Rel,
} from 'filigree'
import { startBothEngines } from './both-engines.js'
import { internalsOf } from './open-database.js'

@Record({ softDelete: true })
@NoAuth
class Book {
  @Field('id') id!: number
  @Field('string') title!: string
  @ManyToMany(() => Tag) tags!: Rel<Tag[]>
  @HasMany(() => Note) notes!: Rel<Note[]>
}

@Record({ rows: () => ({ word: { ne: 'secret' } }) })
@NoAuth
class Tag {
  @Field('id') id!: number
  @Field('string') word!: string
  @ManyToMany(() => Book) books!: Rel<Book[]>
}

@Record({ rows: () => ({ book: { title: { ne: 'Book 1' } } }) })
@NoAuth
class Note {
  @Field('id') id!: number
  @Field('integer') bookId!: number
  @BelongsTo(() => Book) book!: Rel<Book>
}

@Controller('/books', { crud: Book })
@NoAuth
class Books {}

@Controller('/notes', { crud: Note })
@NoAuth
class Notes {}

@Module({ controllers: [Books, Notes], records: [Book, Tag, Note] })
class Library {}

const linkedBooks = 30
const bookCount = 2000

describe.each(await startBothEngines())('%s: related rows of related rows', (_name, open) => {
  let database: Database
  let app: Application

  beforeAll(async () => {
    database = await connect(await open(), { records: [Book, Tag, Note] })
    await database.sync()
    const env = { APP_API_KEY: 'key' }
    app = await bootstrap(Library, { database, listen: false, logger: false, env })
    const ids = Array.from({ length: linkedBooks }, (_, index) => index + 1)
    const titles = Array.from({ length: bookCount }, (_, index) => ({ title: `Book ${index}` }))
    await database.records(Book).insertMany(titles)
    await database.records(Tag).insertMany(ids.map((id) => ({ word: `Tag ${id}` })))
    for (const id of ids) await database.records(Book).link(id, 'tags', ids)
    await database
      .records(Note)
      .createMany([{ bookId: 1 }, { bookId: 2 }, { bookId: 31 }, { bookId: 3 }])
    // PostgreSQL publishes statistics with a delay.
    await database.kysely.executeQuery(CompiledQuery.raw('analyze'))
    // The application reads the sizes every half minute. Read them now.
    await internalsOf(database).sizes.read()
  })
  afterAll(() => Promise.all([app.close(), database.close()]))

  const count = (value: unknown, names: readonly string[]): number => {
    const [name, ...more] = names
    if (name === undefined) return 1
    const found = [(value as { [name: string]: unknown })[name]].flat()
    return found.reduce((sum: number, one) => sum + count(one, more), 0)
  }

  it.each([
    ['/books/1', 'tags', linkedBooks],
    ['/books/1', 'tags.books', linkedBooks ** 2],
    ['/notes/1', 'book.tags.books', linkedBooks ** 2],
    ['/books/2000', 'tags.books.tags.books', 0],
  ])('returns all related rows of %s with %s', async (url, path, rows) => {
    const response = await app.inject({ url: `${url}?with=${path}` })
    expect(response.status).toBe(200)
    expect(count(response.json(), path.split('.'))).toBe(rows)
  })

  it.each([
    ['/books/1', 'tags.books.tags'],
    ['/books/1', 'tags.books.tags.books'],
    ['/books', 'tags.books.tags'],
    ['/notes', 'book.tags.books.tags'],
  ])('rejects a multiplication of linked rows: %s with %s', async (url, path) => {
    const response = await app.inject({ url: `${url}?with=${path}` })
    expect({ status: response.status, body: response.json() }).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'with', code: 'TOO_COSTLY' }] },
    })
  })

  it('applies the conditions of each relation, through relations too', async () => {
    const response = await app.inject({ url: '/books?with=tags,notes&fields=id&limit=2' })
    const books = response.json() as { id: number; notes: { id: number }[] }[]
    const notes = books.map(({ id, notes }) => [id, notes.map((note) => note.id)])
    expect(notes).toEqual([
      [1, [1]],
      [2, []],
    ])
  })

  it('counts only rows the caller may see', async () => {
    await database.records(Tag).updateWhere({ id: { gt: 1 } }, { word: 'secret' })
    const path = 'tags.books.tags.books'
    const response = await app.inject({ url: `/books/1?with=${path}` })
    expect(response.status).toBe(200)
    expect(count(response.json(), path.split('.'))).toBe(linkedBooks ** 2)
  })
})
