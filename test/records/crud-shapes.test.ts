import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  type Application,
  BelongsTo,
  bootstrap,
  connect,
  Controller,
  type Database,
  Field,
  type Generated,
  HasMany,
  ManyToMany,
  Module,
  NoAuth,
  Record,
  type Rel,
  Secured,
} from '../../src/index.js'
import { startBothEngines } from './both-engines.js'

@Record
@NoAuth
class Shelf {
  @Field('id') id!: number
  @Field('string') name!: string
  @Secured('boss') @Field('integer', { default: 1 }) cost!: Generated<number>
  @HasMany(() => Book) books!: Rel<Book[]>
  @HasMany(() => Kind) kinds!: Rel<Kind[]>
}

@Record({ rows: () => ({ open: true }) })
@NoAuth
class Book {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('boolean', { default: true }) open!: Generated<boolean>
  @Field('integer') shelfId!: number
  @BelongsTo(() => Shelf) shelf!: Rel<Shelf>
  @ManyToMany(() => Tag) tags!: Rel<Tag[]>
}

@Record({ rows: () => ({ word: { ne: 'secret' } }) })
@NoAuth
class Tag {
  @Field('id') id!: number
  @Field('string') word!: string
  @Secured('boss') @HasMany(() => Note) notes!: Rel<Note[]>
}

@Record
@NoAuth
class Note {
  @Field('id') id!: number
  @Field('integer') tagId!: number
  @BelongsTo(() => Tag) tag!: Rel<Tag>
}

@Record
@NoAuth
class Kind {
  @Field('id') id!: number
  @Field('numeric', { optional: true }) real?: number
  @Field('decimal', { precision: 30, scale: 2, optional: true }) exact?: string
  @Field('bigint', { optional: true }) wide?: string
  @Field('date', { optional: true }) day?: string
  @Field('time', { optional: true }) hour?: string
  @Field('datetime', { optional: true }) at?: string
  @Field('boolean', { optional: true }) is?: boolean
  @Field('blob', { optional: true }) bytes?: Buffer
  @Field('json', { optional: true }) any?: unknown
  @Field('string', { list: true, optional: true }) words?: string[]
  @Field('integer') shelfId!: number
  @BelongsTo(() => Shelf) shelf!: Rel<Shelf>
}

@Controller('/kinds', { crud: Kind })
@NoAuth
class Kinds {}

@Controller('/shelves', { crud: Shelf })
@NoAuth
class Shelves {}

@Controller('/books', { crud: Book })
@NoAuth
class Books {}

@Controller('/tags', { crud: Tag })
@NoAuth
class Tags {}

@Module({ controllers: [Shelves, Books, Tags, Kinds], records: [Shelf, Book, Tag, Note, Kind] })
class Library {}

const engines = await startBothEngines()

describe.each(engines)('%s: response shapes of crud', (_name, open) => {
  let database: Database
  let app: Application
  const send = async (method: string, url: string, body?: object) => {
    const headers = { 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { headers, body: JSON.stringify(body) }
    const response = await app.inject({ method, url, ...sent })
    return { status: response.status, body: JSON.parse(response.body || 'null') as unknown }
  }

  beforeAll(async () => {
    database = await connect(await open(), { records: [Shelf, Book, Tag, Note, Kind] })
    await database.sync()
    const env = { APP_API_KEY: 'key' }
    app = await bootstrap(Library, { database, listen: false, logger: false, env })
    await database.records(Shelf).createMany([{ name: 'a' }, { name: 'b' }])
    await database.records(Tag).createMany([{ word: 'red' }, { word: 'secret' }, { word: 'blue' }])
    const rows = [
      { title: 'one', shelfId: 1 },
      { title: 'closed', shelfId: 1, open: false },
      { title: 'two', shelfId: 2 },
    ]
    await database.records(Book).createMany(rows)
    await database.records(Book).link(1, 'tags', [1, 2, 3])
    await database.records(Book).link(2, 'tags', [1])
  })
  afterAll(() => database.close())

  it('returns the related rows that the caller may see, without forbidden fields', async () => {
    const { status, body } = await send('GET', '/shelves?with=books.tags&fields=id,name')
    expect(status).toBe(200)
    expect(body).toEqual([
      {
        id: 1,
        name: 'a',
        books: [
          {
            id: 1,
            title: 'one',
            open: true,
            shelfId: 1,
            tags: [
              { id: 1, word: 'red' },
              { id: 3, word: 'blue' },
            ],
          },
        ],
      },
      { id: 2, name: 'b', books: [{ id: 3, title: 'two', open: true, shelfId: 2, tags: [] }] },
    ])
    const one = await send('GET', '/books/1?with=shelf,tags&fields=title')
    expect(one.body).toEqual({
      title: 'one',
      shelf: { id: 1, name: 'a' },
      tags: [
        { id: 1, word: 'red' },
        { id: 3, word: 'blue' },
      ],
    })
    const paged = await send('GET', '/books?fields=title&limit=1&orderBy=-id')
    expect(paged.body).toEqual([{ title: 'two' }])
  })

  it.each([
    '/shelves?with=books.tags&fields=id,name&count=none',
    '/books/1?with=shelf.books,tags&fields=title',
    '/books?with=shelf,tags&orderBy=-title&limit=2&offset=0&count=none&shelf.name=a',
    '/books?with=shelf,tags&distinct=shelfId&count=none',
  ])('runs one statement for %s', async (url) => {
    const statements: string[] = []
    const onStatement = (message: unknown): void => {
      statements.push((message as { sql: string }).sql)
    }
    subscribe('filigree:statement', onStatement)
    const response = await send('GET', url)
    unsubscribe('filigree:statement', onStatement)
    expect(response.status).toBe(200)
    expect(statements).toHaveLength(1)
  })

  it('returns values of every type in related rows as in lists', async () => {
    const values = {
      real: 0.1 + 0.2,
      exact: '12345678901234567890.12',
      wide: '9007199254740993',
      day: '2026-02-03',
      hour: '10:11:12',
      at: '2026-01-02T03:04:05.678Z',
      is: true,
      bytes: Buffer.from([0, 255, 10, 13]),
      any: { a: [1, null, 'é"\\'] },
      words: ['x', 'y"'],
    }
    const kinds = database.records(Kind)
    await kinds.createMany([
      { ...values, shelfId: 1 },
      { ...values, is: false, real: -1e300, shelfId: 1 },
      { shelfId: 1 },
    ])
    const { body } = await send('GET', '/kinds')
    const shelf = (await send('GET', '/shelves/1?with=kinds.shelf.kinds')).body as {
      kinds: { [name: string]: unknown; shelf?: { kinds: unknown } }[]
    }
    expect(shelf.kinds.map(({ shelf: _shelf, ...fields }) => fields)).toEqual(body)
    expect(shelf.kinds[0]?.shelf?.kinds).toEqual(body)
    expect(body).toMatchObject([{ real: 0.30000000000000004, wide: values.wide }, {}, {}])
  })

  it('returns only the selected fields of related rows', async () => {
    const books = await send('GET', '/books?fields=title,shelf.name,tags.word&orderBy=id')
    expect(books.body).toEqual([
      { title: 'one', shelf: { name: 'a' }, tags: [{ word: 'red' }, { word: 'blue' }] },
      { title: 'two', shelf: { name: 'b' }, tags: [] },
    ])
    const one = await send('GET', '/books/1?fields=shelf.books.title&with=tags')
    expect(one.body).toEqual({
      shelf: { books: [{ title: 'one' }] },
      tags: [
        { id: 1, word: 'red' },
        { id: 3, word: 'blue' },
      ],
    })
  })

  it.each([
    ['/books?fields=title,shelf', 400],
    ['/books?fields=nothing.name', 400],
    ['/books?fields=title.name', 400],
    ['/books?fields=shelf.nothing', 400],
    ['/books?fields=shelf.books.secret', 400],
    ['/books?fields=shelf.__proto__.name', 400],
    ['/books?fields=shelf.', 400],
    ['/books?fields=tags.notes.id', 401],
    ['/books?with=nothing', 400],
    ['/books?with=tags.notes', 401],
    ['/books?fields=secret', 400],
    ['/books?fields=', 400],
    ['/books?fields=title,', 400],
    ['/books?orderBy=', 400],
    ['/books?with=', 400],
    ['/books/aggregate?avg=', 400],
    ['/books/aggregate?groupBy=', 400],
    ['/books/aggregate?count=true', 200],
    ['/books/aggregate?count=true&orderBy=sumId', 400],
    ['/books/aggregate?count=true&groupBy=shelfId&orderBy=title', 400],
    ['/books?with=shelf.books.shelf.books.shelf', 400],
    ['/books/1?with=nothing', 400],
  ])('responds to %s with %i', async (url, status) => {
    expect((await send('GET', url)).status).toBe(status)
  })

  it('links rows by tagIds in POST and PATCH, if the caller may see them', async () => {
    const created = await send('POST', '/books', { title: 'new', shelfId: 1, tagIds: [1, 3] })
    expect(created.status).toBe(201)
    const { id } = created.body as { id: number }
    const tags = async (): Promise<unknown> =>
      (await database.records(Book).find(id, { with: ['tags'] }))?.tags.map((tag) => tag.id)
    expect(await tags()).toEqual([1, 3])
    expect((await send('PATCH', `/books/${id}`, { title: 'newer' })).status).toBe(200)
    expect(await tags()).toEqual([1, 3])
    expect((await send('PATCH', `/books/${id}`, { tagIds: [3] })).status).toBe(200)
    expect(await tags()).toEqual([3])
    expect((await send('PATCH', `/books/${id}`, { tagIds: [2] })).status).toBe(409)
    expect((await send('PATCH', `/books/${id}`, { tagIds: ['x'] })).status).toBe(400)
    expect((await send('PATCH', `/books/${id}`, { tagIds: [99] })).status).toBe(409)
    expect(await tags()).toEqual([3])
  })
})
