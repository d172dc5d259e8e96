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
  Resolve,
  Secured,
  type Row,
} from '../../src/index.js'
import { failure } from '../contracts/database-fixture.js'
import { startBothEngines } from './both-engines.js'
import { randomNumbers } from '../random.js'

@Record
@NoAuth
class Shelf {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Book) books!: Rel<Book[]>
  @Resolve('Int') size(): number {
    return 1
  }
}

@Record<Book>({
  search: ['title', 'text', 'secret'],
  softDelete: true,
  rows: () => ({ open: true }),
})
@NoAuth
class Book {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('string', { optional: true, nullable: true }) text?: string | null
  @Field('string', { hidden: true, default: '' }) secret!: Generated<string>
  @Field('boolean', { default: true }) open!: Generated<boolean>
  @Field('integer', { default: 1 }) shelfId!: Generated<number>
  @BelongsTo(() => Shelf) shelf!: Rel<Shelf>
  @ManyToMany(() => Tag) tags!: Rel<Tag[]>
}

@Record({ search: ['word', 'note'] })
@NoAuth
class Tag {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') word!: string
  @Secured('boss') @Field('string', { default: '' }) note!: Generated<string>
  @ManyToMany(() => Book) books!: Rel<Book[]>
}

@Record({ search: ['word'] })
@NoAuth
class Word {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') word!: string
}

@Controller('/books', { crud: Book })
@NoAuth
class Books {}
@Controller('/tags', { crud: Tag })
@NoAuth
class Tags {}
@Controller('/shelves', { crud: Shelf })
@NoAuth
class Shelves {}

const records = [Shelf, Book, Tag, Word]
@Module({ controllers: [Books, Tags, Shelves], records })
class Library {}

interface Item {
  readonly id: string
}
interface Page {
  readonly totalCount: number
  readonly pageInfo: { readonly endCursor: string }
  readonly edges: readonly { readonly cursor: string; readonly node: Item }[]
}
interface Answer {
  readonly data: {
    readonly books: readonly Item[]
    readonly bookCount: number
    readonly booksAggregate: readonly object[]
    readonly shelves: { books: readonly Item[]; size?: number }[]
    readonly booksPage: Page
    readonly tags: unknown
    readonly a: { readonly inputFields: readonly Item[] }
    readonly b: { readonly inputFields: readonly Item[] }
  }
  readonly errors?: readonly { readonly message: string }[]
}

/** @returns the words of ASCII letters and digits, in lower case, as the databases should split the text */
function wordsOf(...texts: readonly (string | null | undefined)[]): Set<string> {
  return new Set(texts.flatMap((text) => text?.toLowerCase().match(/[a-z0-9]+/g) ?? []))
}

const vocabulary = ['lamp', 'Lamps', 'BLUE', 'red', 'x1', '42', 'and', 'or', 'not', 'near', 'the']
const glue = [' ', ', ', '-', '.', '/', "'", ' "', '\n', '; ', '_', '@', ' (', ') ', '*', ':']

function textOf(next: (below: number) => number, maxWords: number): string {
  const count = next(maxWords)
  return Array.from(
    { length: count },
    () => (vocabulary[next(vocabulary.length)] ?? '') + (glue[next(glue.length)] ?? ''),
  ).join('')
}

describe.each(await startBothEngines())('search: %s', (_name, open) => {
  let database: Database
  let app: Application
  beforeAll(async () => {
    database = await connect(await open(), { records })
    await database.sync()
    app = await bootstrap(Library, { database, listen: false })
  })
  afterAll(async () => {
    await app.close()
    await database.close()
  })

  const get = async (path: string, headers = {}) => {
    const response = await app.handle(new Request(`http://app.test${path}`, { headers }))
    return { status: response.status, headers: response.headers, body: await response.json() }
  }
  const graphql = async (query: string, variables = {}) => {
    const response = await app.handle(
      new Request('http://app.test/graphql', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ query, variables }),
      }),
    )
    return (await response.json()) as Answer
  }
  const titles = (list: readonly { title?: string }[]) => list.map(({ title }) => title)

  describe('of a few books', () => {
    beforeAll(async () => {
      await database.records(Shelf).create({ name: 'one' })
      await database.records(Shelf).create({ name: 'two' })
      const books = database.records(Book)
      await books.createMany([
        {
          title: 'A chair',
          text: 'Next to it stands one lamp, and the text describes much more of the room.',
        },
        { title: 'Lamps', text: 'lamp-posts, lamp oil, a lamp/lantern; the LAMP', shelfId: 2 },
        { title: 'The blue lamp', text: null },
        { title: 'Blue', text: 'Größe ÉCOLE 中文 字', secret: 'topsecret' },
        { title: 'Closed lamp', open: false },
        { title: 'Deleted lamp' },
      ])
      await books.delete(6)
    })
    afterAll(async () => {
      await database.records(Book).deleteWhere({})
    })

    it('finds rows with all words in any of the fields, best first', async () => {
      const books = database.records(Book)
      const found = await books.list({ where: { search: 'LAMP' } })
      expect(titles(found)).toHaveLength(4)
      expect(titles(found).at(-1)).toBe('A chair')
      expect(titles(await books.list({ search: 'blue lamp' }))).toEqual(['The blue lamp'])
      expect(titles(await books.list({ search: 'room chair' }))).toEqual(['A chair'])
      expect(await books.list({ search: 'lamp nowhere' })).toEqual([])
      expect(await books.count({ search: 'lamp' })).toBe(4)
      expect(await books.count({}, { search: 'lamp' })).toBe(4)
      expect(await books.count({ search: 'lamp' }, { withDeleted: true })).toBe(5)
      const aggregated = await books.aggregate({ where: { search: 'lamp' }, count: true })
      expect(aggregated).toEqual([{ count: 4 }])
    })

    it('handles letters of all languages', async () => {
      const books = database.records(Book)
      for (const text of ['größe', 'GRÖSSE', 'école', '中文', '字'])
        expect([text, await books.count({ search: text })]).toEqual([
          text,
          text === 'GRÖSSE' ? 0 : 1,
        ])
      expect(await books.count({ search: 'ecole' })).toBe(0)
    })

    it('can be sorted by a field instead of the rank', async () => {
      const books = database.records(Book)
      const ordered = await books.list({ search: 'lamp', orderBy: { title: 'desc' } })
      expect(titles(ordered)).toEqual(['The blue lamp', 'Lamps', 'Closed lamp', 'A chair'])
      const { body } = await get('/books?search=lamp&orderBy=title')
      expect(titles(body)).toEqual(['A chair', 'Lamps', 'The blue lamp'])
    })

    it('combines with other conditions, or, not and relations', async () => {
      const books = database.records(Book)
      const list = async (where: object) =>
        titles(await books.list({ where: { open: true, ...where }, orderBy: { id: 'asc' } }))
      expect(await list({ search: 'lamp', shelfId: 2 })).toEqual(['Lamps'])
      expect(await list({ not: { search: 'lamp' } })).toEqual(['Blue'])
      expect(await list({ or: [{ search: 'école' }, { search: 'chair' }] })).toEqual([
        'A chair',
        'Blue',
      ])
      expect(await list({ and: [{ search: 'lamp' }, { search: 'blue' }] })).toEqual([
        'The blue lamp',
      ])
      const shelves = database.records(Shelf)
      const shelfIds = async (where: object) => (await shelves.list({ where })).map(({ id }) => id)
      expect(await shelfIds({ books: { search: 'lantern' } })).toEqual([2])
      expect(await shelfIds({ not: { books: { search: 'lantern' } } })).toEqual([1])
    })

    it('works the same over REST and GraphQL, for rows the caller may see', async () => {
      const { body, headers } = await get('/books?search=lamp')
      expect(body).toHaveLength(3)
      expect(body[2].title).toBe('A chair')
      expect(headers.get('X-Total-Count')).toBe('3')
      const ids = body.map(({ id }: Book) => id)
      const query = `query ($s: String) {
        books(where: { search: $s }) { id }
        bookCount(where: { search: $s })
        booksAggregate(where: { search: $s }) { count }
        shelves(where: { books: { search: $s } }) { id books(where: { search: $s }) { id } }
      }`
      const { data, errors } = await graphql(query, { s: 'lamp' })
      expect(errors).toBeUndefined()
      expect(data.books.map(({ id }) => Number(id))).toEqual(ids)
      expect(data.bookCount).toBe(3)
      expect(data.booksAggregate).toEqual([{ count: 3 }])
      const firstShelfBooks = ids
        .filter((id: number) => id !== 2)
        .map((id: number) => ({ id: String(id) }))
      expect(data.shelves).toEqual([
        { id: '1', books: firstShelfBooks },
        { id: '2', books: [{ id: '2' }] },
      ])
      expect((await get('/shelves?books.search=lantern')).body).toEqual([{ id: 2, name: 'two' }])
      const aggregated = await get('/books/aggregate?search=lamp&count=true')
      expect(aggregated.body).toEqual([{ count: 3 }])
    })

    it('returns the same rows with resolvers as with one statement', async () => {
      const fields = 'id books(where: { search: "lamp" }) { id }'
      const planned = await graphql(`{ shelves { ${fields} } }`)
      const resolved = await graphql(`{ shelves { ${fields} size } }`)
      expect(resolved.errors).toBeUndefined()
      for (const shelf of resolved.data.shelves) delete shelf.size
      expect(resolved.data).toEqual(planned.data)
      expect(planned.data.shelves[0]?.books).toHaveLength(2)
    })

    it('works with pages', async () => {
      const all = (await get('/books?search=lamp')).body.map(({ id }: Book) => id)
      const foundIds: number[] = []
      let path: string | undefined = '/books?search=lamp&limit=1'
      while (path !== undefined) {
        const { status, body, headers } = await get(path)
        expect(status).toBe(200)
        foundIds.push(...body.map(({ id }: Book) => id))
        path = /<([^>]*)>/.exec(headers.get('Link') ?? '')?.[1]
      }
      expect(foundIds).toEqual(all)
      const page = (after?: string) =>
        graphql(
          `
            query ($after: String) {
              booksPage(first: 2, after: $after, where: { search: "lamp" }) {
                totalCount
                pageInfo {
                  hasNextPage
                  hasPreviousPage
                  endCursor
                }
                edges {
                  cursor
                  node {
                    id
                  }
                }
              }
            }
          `,
          { after },
        )
      const first = (await page()).data.booksPage
      expect(first.totalCount).toBe(3)
      expect(first.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: false })
      const next = (await page(first.pageInfo.endCursor)).data.booksPage
      expect(next.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true })
      const ids = [...first.edges, ...next.edges].map(({ node }) => Number(node.id))
      expect(ids).toEqual(all)
      const secondPage = (await page(first.edges[0]?.cursor)).data.booksPage
      for (const pageArguments of ['last: 2', 'first: 2, before: "x"']) {
        const backward = `{ booksPage(${pageArguments}, where: { search: "lamp" }) { totalCount } }`
        expect((await graphql(backward)).errors?.[0]?.message).toMatch(/orderBy is required/)
      }
      expect(secondPage.edges.map(({ node }) => Number(node.id))).toEqual(all.slice(1))
    })

    it('rejects the cursor of another order', async () => {
      const cursor = /after=([^&>]*)/.exec((await get('/books?limit=1')).headers.get('Link') ?? '')
      expect((await get(`/books?search=lamp&after=${cursor?.[1]}`)).status).toBe(400)
      const cursorOfSearch = /after=([^&>]*)/.exec(
        (await get('/books?search=lamp&limit=1')).headers.get('Link') ?? '',
      )
      expect((await get(`/books?after=${cursorOfSearch?.[1]}`)).status).toBe(400)
      expect((await get('/books?search=lamp&after=zzz')).status).toBe(400)
    })

    it('never searches hidden fields', async () => {
      expect(await database.records(Book).count({ search: 'topsecret' })).toBe(0)
      expect((await get('/books?search=topsecret')).body).toEqual([])
    })

    it('responds to any text with 200 or 400', async () => {
      const texts = [
        '',
        ' ',
        '"',
        '""',
        "'",
        '"lamp',
        'lamp*',
        'lamp AND',
        'OR',
        'NOT lamp',
        'NEAR(lamp blue)',
        'title:lamp',
        'title : lamp',
        '^lamp',
        '-lamp',
        '{title} : lamp',
        'lamp & !blue | (x:*)',
        "lamp'); drop table book; --",
        '\\',
        '%',
        '😀',
        'lamp 😀',
        '\u0000',
        '\ud800',
        'a\u0301',
        '²',
        '\u{1e900}',
        'l'.repeat(1000),
        'l '.repeat(2000),
        Array.from({ length: 60 }, (_, index) => `w${index}`).join(' '),
        ...'! " # $ % & \' ( ) * + , - . / : ; < = > ? @ [ \\ ] ^ _ ` { | } ~'.split(' '),
      ]
      for (const text of texts) {
        const { status } = await get(
          `/books?search=${encodeURIComponent(text.replace(/\p{Surrogate}/gu, '%'))}`,
        )
        expect([text, [200, 400]]).toEqual([text, expect.arrayContaining([status])])
        const { errors } = await graphql(
          'query ($s: String) { books(where: { search: $s }) { id } }',
          { s: text },
        )
        for (const { message } of errors ?? []) expect(message).toMatch(/search (must|is)/)
      }
      for (const where of [{ search: 5 }, { search: null }, { search: ['lamp'] }, { search: {} }])
        expect(await failure(database.records(Book).list({ where: where as never }))).toMatchObject(
          {
            status: 400,
            errors: [{ path: 'search' }],
          },
        )
      expect((await get('/books?search=a&search=b')).status).toBe(400)
      expect((await get('/shelves?search=a')).status).toBe(400)
      expect(await failure(database.records(Shelf).list({ where: { search: 'a' } }))).toMatchObject(
        { status: 400 },
      )
      expect((await get('/books?search=%22lamp%22')).body).toHaveLength(3)
    })

    it('is rejected for callers who may not read a searched field', async () => {
      expect((await get('/tags?search=red')).status).toBe(401)
      const { data, errors } = await graphql('{ tags(where: { search: "red" }) { id } }')
      expect([null, undefined]).toContain(data.tags)
      expect(errors).toHaveLength(1)
      const through = await graphql('{ books(where: { tags: { search: "red" } }) { id } }')
      expect(through.errors).toHaveLength(1)
    })

    it('is described in the OpenAPI document and the GraphQL schema', async () => {
      const { body } = await get('/swagger/openapi.json')
      const names = (path: string) =>
        body.paths[path].get.parameters.map(({ name }: { name: string }) => name)
      expect(names('/books')).toContain('search')
      expect(names('/books/aggregate')).toContain('search')
      expect(names('/shelves')).not.toContain('search')
      const { data } = await graphql(
        '{ a: __type(name: "BookWhere") { inputFields { name } } b: __type(name: "ShelfWhere") { inputFields { name } } }',
      )
      expect(data.a.inputFields).toContainEqual({ name: 'search' })
      expect(data.b.inputFields).not.toContainEqual({ name: 'search' })
    })
  })

  it('finds rows of every way of writing, with UUID keys too', async () => {
    const words = database.records(Word)
    const found = async (search: string) => (await words.list({ search })).map(({ word }) => word)
    const { id } = await words.create({ word: 'apple' })
    await words.insertMany([{ word: 'pear' }, { word: 'apple pie' }])
    expect(await found('apple')).toEqual(['apple', 'apple pie'])
    await words.update(id, { word: 'plum' })
    expect(await found('apple')).toEqual(['apple pie'])
    expect(await found('plum')).toEqual(['plum'])
    await words.updateWhere({ search: 'plum' }, { word: 'plum jam' })
    expect(await found('jam')).toEqual(['plum jam'])
    await database.kysely.updateTable('word').set({ word: 'quince' }).where('id', '=', id).execute()
    expect(await found('jam')).toEqual([])
    expect(await found('quince')).toEqual(['quince'])
    expect(await words.deleteWhere({ search: 'quince' })).toBe(1)
    expect(await found('quince')).toEqual([])
    await failure(
      database.transaction(async (tx) => {
        await tx.records(Word).create({ word: 'rolled back' })
        throw new Error('no')
      }),
    )
    expect(await found('rolled')).toEqual([])
  })

  it('finds a word in either form of Unicode, and tells its accents apart', async () => {
    const words = database.records(Word)
    const texts = ['Tür zu', 'Tür auf', 'cafe noir', 'café noir', 'café noir']
    const [first = '', second = '', ...others] = texts
    const stored = [first.normalize('NFC'), second.normalize('NFD'), ...others]
    await words.insertMany(stored.map((word) => ({ word })))
    const found = async (search: string) =>
      (await words.list({ where: { search }, orderBy: { word: 'asc' } })).map(({ word }) => word)
    for (const form of ['NFC', 'NFD']) {
      expect(await found('tür'.normalize(form))).toEqual([...stored.slice(0, 2)].sort())
      expect(await found('TÜR auf'.normalize(form))).toEqual([stored[1]])
      expect(await found('café'.normalize(form))).toHaveLength(2)
    }
    expect(await found('cafe')).toEqual(['cafe noir'])
    await words.deleteWhere({ word: { in: stored } })
  })

  it('finds Greek words in capitals, with either sigma', async () => {
    const words = database.records(Word)
    const stored = ['ΟΔΟΣ Α', 'οδος β', 'οδοσ γ']
    await words.insertMany(stored.map((word) => ({ word })))
    for (const search of ['ΟΔΟΣ', 'οδος', 'οδοσ', 'Οδος']) {
      expect(await words.count({ search })).toBe(3)
      expect(await words.count({ word: { ilike: `${search}%` } })).toBe(3)
    }
    await words.deleteWhere({ word: { in: stored } })
  })

  it('finds words whose vowels are marks', async () => {
    const words = database.records(Word)
    await words.create({ word: 'नमस्ते दुनिया' })
    expect(await words.count({ search: 'दुनिया' })).toBe(1)
    expect(await words.count({ search: 'नमस्ते' })).toBe(1)
    expect(await words.deleteWhere({ search: 'नमस्ते' })).toBe(1)
  })

  it('matches a reference implementation in 300 random queries', async () => {
    const next = randomNumbers(5)
    const books = database.records(Book)
    await books.insertMany(
      Array.from({ length: 300 }, () => ({
        title: textOf(next, 4),
        text: next(5) === 0 ? null : textOf(next, 9),
        shelfId: 1 + next(2),
      })),
    )
    for (let step = 0; step < 300; step++) {
      if (step % 3 === 0) {
        const [one] = await books.list({ limit: 1, offset: next(200) })
        const id = one?.id ?? 0
        if (next(3) === 0) await books.delete(id)
        else await books.update(id, { title: textOf(next, 4), text: textOf(next, 9) })
      }
      const search = textOf(next, 4)
      const shelfId = 1 + next(2)
      const searchedWords = wordsOf(search)
      const all = await books.list()
      const expected = all.filter(
        (book) =>
          book.shelfId === shelfId &&
          [...searchedWords].every((word) => wordsOf(book.title, book.text).has(word)),
      )
      const found = await books.list({ where: { search, shelfId } })
      const ids = (list: readonly Row<Book>[]) => list.map(({ id }) => id).sort((a, b) => a - b)
      expect([search, ids(found)]).toEqual([search, ids(expected)])
      expect(await books.count({ search, shelfId })).toBe(expected.length)
      const ordered = await books.list({ where: { search, shelfId }, orderBy: { id: 'desc' } })
      expect(ordered.map(({ id }) => id)).toEqual(ids(expected).reverse())
      const otherCount = await books.count({ not: { search }, shelfId })
      expect(otherCount).toBe(
        all.filter((book) => book.shelfId === shelfId).length - expected.length,
      )
    }
  })
})
