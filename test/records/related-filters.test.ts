/** Filters through several relations. They find the right rows, and read the most selective table first. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import {
  BelongsTo,
  connect,
  type Database,
  Field,
  HasMany,
  ManyToMany,
  Record,
  type Rel,
  type Where,
} from 'filigree'
import { startBothEngines } from './both-engines.js'
import { readSql } from './run-sql.js'

@Record
class Reader {
  @Field('id') id!: number
  @Field('string', { unique: true }) username!: string
  @Field('string', { index: true, oneOf: ['open', 'closed'] }) state!: string
  @HasMany(() => Favorite) favorites!: Rel<Favorite[]>
}

@Record
class Article {
  @Field('id') id!: number
  @Field('integer', { index: true }) rank!: number
  @Field('integer', { optional: true, nullable: true }) authorId?: number | null
  @BelongsTo(() => Reader, { by: 'authorId' }) author!: Rel<Reader | null>
  @HasMany(() => Favorite) favorites!: Rel<Favorite[]>
  @ManyToMany(() => Tag) tags!: Rel<Tag[]>
}

@Record({ softDelete: true })
class Favorite {
  @Field('id') id!: number
  @Field('integer') articleId!: number
  @BelongsTo(() => Article) article!: Rel<Article>
  @Field('integer') readerId!: number
  @BelongsTo(() => Reader) reader!: Rel<Reader>
}

@Record
class Tag {
  @Field('id') id!: number
  @Field('string', { unique: true }) word!: string
  @ManyToMany(() => Article) articles!: Rel<Article[]>
}

const engines = await startBothEngines()

describe.each(engines)('filters through relations on %s', (name, open) => {
  let database: Database
  beforeAll(async () => {
    database = await connect(await open(), { records: [Reader, Article, Favorite, Tag] })
    await database.sync()
    await database.records(Reader).createMany(
      ['ann', 'bob', 'nobody'].map((username) => ({
        username,
        state: username === 'bob' ? 'closed' : 'open',
      })),
    )
    // Articles 3, 6 and 9 have no author.
    const authors = [1, 2, null]
    await database.records(Article).createMany(
      Array.from({ length: 9 }, (_, index) => ({
        rank: 9 - index,
        authorId: authors[index % 3] ?? null,
      })),
    )
    const favorites = [1, 2, 3, 5].map((articleId) => ({ articleId, readerId: 1 }))
    const created = await database
      .records(Favorite)
      .createMany([...favorites, { articleId: 9, readerId: 2 }, { articleId: 8, readerId: 2 }])
    // The last favorite is soft-deleted, so filters ignore it.
    await database.records(Favorite).delete(created.at(-1)?.id ?? 0)
    await database.records(Tag).createMany([{ word: 'red' }, { word: 'blue' }])
    await database.records(Article).link(4, 'tags', [1])
    await database.records(Article).link(5, 'tags', [1, 2])
  })
  afterAll(() => database.close())

  const cases: readonly (readonly [where: Where<Article>, ids: readonly number[]])[] = [
    [{ favorites: { reader: { username: 'ann' } } }, [1, 2, 3, 5]],
    [{ favorites: { reader: { username: 'bob' } } }, [9]],
    [{ favorites: { reader: { username: 'nobody' } } }, []],
    [{ favorites: { reader: { username: { in: ['bob', 'ann'] } } } }, [1, 2, 3, 5, 9]],
    [{ favorites: { readerId: 1 } }, [1, 2, 3, 5]],
    [{ favorites: { reader: { state: 'closed' } } }, [9]],
    [{ author: { username: 'ann' } }, [1, 4, 7]],
    [{ author: { username: 'nobody' } }, []],
    [{ not: { author: { username: 'ann' } } }, [2, 3, 5, 6, 8, 9]],
    [{ not: { favorites: { reader: { username: 'ann' } } } }, [4, 6, 7, 8, 9]],
    [
      { not: { and: [{ author: { username: 'ann' } }, { rank: { gt: 6 } }] } },
      [2, 3, 4, 5, 6, 7, 8, 9],
    ],
    [{ or: [{ author: { username: 'bob' } }, { tags: { word: 'blue' } }] }, [2, 5, 8]],
    [{ tags: { word: 'red' }, favorites: { reader: { username: 'ann' } } }, [5]],
    [{ author: { favorites: { article: { tags: { word: 'blue' } } } } }, [1, 4, 7]],
    [{ id: 5, favorites: { reader: { username: 'ann' } } }, [5]],
    [{ id: { in: [1, 4, 9] }, favorites: { reader: { username: 'ann' } } }, [1]],
  ]

  it.each(cases)('find %j', async (where, ids) => {
    const articles = database.records(Article)
    const found = await articles.list({ where, orderBy: [{ rank: 'desc' }], limit: 20 })
    expect(found.map(({ id }) => id)).toEqual(ids)
    expect(await articles.count(where)).toBe(ids.length)
    expect((await articles.list({ where, limit: 2 })).map(({ id }) => id)).toEqual(ids.slice(0, 2))
  })

  if (name === 'SQLite')
    it.each([
      [{ favorites: { reader: { username: 'x' } } }, 0],
      [{ author: { username: 'x' } }, 0],
      [{ tags: { word: 'x' } }, 0],
      // Half of the rows may match, so the list reads rows in order until the page is full.
      [{ favorites: { reader: { state: 'open' } } }, 1],
    ] as const)('start at the most selective table: %j', async (where, scanned) => {
      let text = ''
      const onStatement = (message: unknown): void => {
        text = (message as { sql: string }).sql
      }
      subscribe('filigree:statement', onStatement)
      await database.records(Article).list({ where, orderBy: [{ rank: 'desc' }], limit: 20 })
      unsubscribe('filigree:statement', onStatement)
      const alias = /"article" as "(\w+)"/.exec(text)?.[1] ?? ''
      const plan = await readSql(
        database,
        `explain query plan ${text.replaceAll('?', "'x'").replace(/limit 'x'/, 'limit 20')}`,
      )
      const scans = plan
        .map((row) => String(row[3]))
        .filter((step) => step.startsWith(`SCAN ${alias}`))
      expect(scans.length).toBe(scanned)
    })
})
