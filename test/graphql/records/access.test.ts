import { afterAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  connect,
  type Database,
  Field,
  type Generated,
  GraphQL,
  HasMany,
  NoAuth,
  Record,
  type Rel,
  Secured,
} from '../../../src/index.js'
import { plainSdl } from '../plain-sdl.js'
import { reusing, startBothEngines } from '../../records/both-engines.js'

@Record({
  rows: (user) =>
    user === null ? { open: true } : user.sub === 'root' ? true : { ownerName: user.sub },
})
class Note {
  @Field('id') id!: number
  @Field('string') text!: string
  @Field('string', { hidden: true, default: 'ann' }) ownerName!: Generated<string>
  @Field('boolean', { default: false }) open!: Generated<boolean>
  @Field('integer') folderId!: number
  @BelongsTo(() => Folder) folder!: Rel<Folder>
}

@Record
@NoAuth
class Folder {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Note) notes!: Rel<Note[]>
  @HasMany(() => Secret) secrets!: Rel<Secret[]>
  @Secured('admin')
  @Field('string', { optional: true, nullable: true })
  remark?: string | null
}

@Record
@Secured('admin')
class Secret {
  @Field('id') id!: number
  @Field('string') word!: string
  @Field('integer') folderId!: number
}

@Record({ writes: ['admin', 'editor'] })
class Article {
  @Field('id') id!: number
  @Field('string') title!: string
  @HasMany(() => Remark) remarks!: Rel<Remark[]>
  @HasMany(() => Visit) visits!: Rel<Visit[]>
}

@Record
class Remark {
  @Field('id') id!: number
  @Field('string') text!: string
  @Field('integer') articleId!: number
  @BelongsTo(() => Article) article!: Rel<Article>
}

@Record({ writes: false })
class Visit {
  @Field('id') id!: number
  @Field('string', { readOnly: true }) page!: string
  @Field('integer') articleId!: number
}

const visitor = { user: null }
const ann = { user: { sub: 'ann' } }
const bob = { user: { sub: 'bob' } }
const admin = { user: { sub: 'root', roles: ['admin'] } }
const editor = { user: { sub: 'eve', roles: ['editor'] } }

describe.each(await startBothEngines())('access to records on %s', (_name, open) => {
  let database: Database
  let graphql: GraphQL
  const openEmpty = reusing(open)
  beforeEach(async () => {
    await (database as Database | undefined)?.close()
    database = await connect(await openEmpty(), {
      records: [Folder, Note, Secret, Article, Remark, Visit],
    })
    await database.sync()
    await database.records(Folder).create({ name: 'F', remark: 'r' })
    await database.records(Note).insertMany([
      { text: 'a1', folderId: 1, ownerName: 'ann' },
      { text: 'a2', folderId: 1, ownerName: 'ann', open: true },
      { text: 'b1', folderId: 1, ownerName: 'bob' },
    ])
    await database.records(Secret).create({ word: 'w', folderId: 1 })
    graphql = new GraphQL({ database, maskErrors: false })
    graphql.schema.fromOrm(Folder).fromOrm(Article)
  })
  afterAll(() => database.close())

  const run = async (text: string, context?: unknown) =>
    JSON.parse(JSON.stringify(await graphql.execute(text, {}, context))) as {
      data: Record<string, unknown> | null
      errors?: { path: unknown[]; message: string; extensions: Record<string, unknown> }[]
    }
  const codes = async (text: string, context: unknown) => {
    const { data, errors = [] } = await run(text, context)
    return { data, errors: errors.map(({ path, extensions }) => [path, extensions.code]) }
  }

  it.each([
    ['the program', undefined, ['a1', 'a2', 'b1']],
    ['a visitor', visitor, ['a2']],
    ['ann', ann, ['a1', 'a2']],
    ['a token without a subject', { user: {} }, []],
    ['an administrator', admin, ['a1', 'a2', 'b1']],
  ])(
    'shows %s only their rows, in lists, counts, pages and relations',
    async (_who, context, texts) => {
      const text = `{ notes { text } noteCount notesPage { totalCount edges { node { text } } }
      folders { notes { text } } }`
      const rows = texts.map((one) => ({ text: one }))
      expect(await run(text, context)).toEqual({
        data: {
          notes: rows,
          noteCount: rows.length,
          notesPage: { totalCount: rows.length, edges: rows.map((node) => ({ node })) },
          folders: [{ notes: rows }],
        },
      })
    },
  )

  it('apply to filters through relations: rows of other callers cannot be guessed', async () => {
    const text = '{ folders(where: { notes: { text: { eq: "b1" } } }) { name } }'
    expect((await run(text, ann)).data).toEqual({ folders: [] })
    expect((await run(text, bob)).data).toEqual({ folders: [{ name: 'F' }] })
    const other = '{ folders(where: { not: { notes: { text: { eq: "b1" } } } }) { name } }'
    expect((await run(other, ann)).data).toEqual({ folders: [{ name: 'F' }] })
  })

  it('apply to single records, next to their own resolvers, too', async () => {
    graphql.schema.addField('Note', 'shout', {
      type: 'String',
      needs: ['text'],
      resolve: (note) => (note as Note).text.toUpperCase(),
    })
    expect((await run('{ a: note(id: 1) { text } b: note(id: 3) { text } }', ann)).data).toEqual({
      a: { text: 'a1' },
      b: null,
    })
    const text = '{ a: note(id: 3) { shout } notes { shout } folders { notes { shout } } }'
    expect((await run(text, ann)).data).toEqual({
      a: null,
      notes: [{ shout: 'A1' }, { shout: 'A2' }],
      folders: [{ notes: [{ shout: 'A1' }, { shout: 'A2' }] }],
    })
  })

  it("refuse writes outside the caller's rows, before and after, and change nothing", async () => {
    const before = await database.records(Note).list()
    expect(await codes('mutation { updateNote(id: 3, input: { text: "x" }) { id } }', ann)).toEqual(
      {
        data: { updateNote: null },
        errors: [[['updateNote'], 'NOT_FOUND']],
      },
    )
    expect((await run('mutation { deleteNote(id: 3) }', ann)).data).toEqual({ deleteNote: false })
    // The default owner is ann, so bob would write a row that is not his.
    expect(
      await codes('mutation { createNote(input: { text: "x", folderId: 1 }) { id } }', bob),
    ).toEqual({ data: { createNote: null }, errors: [[['createNote'], 'FORBIDDEN']] })
    expect(await database.records(Note).list()).toEqual(before)
    const updated = await run(
      'mutation { updateNote(id: 1, input: { text: "mine" }) { text } }',
      ann,
    )
    expect(updated.data).toEqual({ updateNote: { text: 'mine' } })
    expect(await codes('mutation { updateNote(id: 77, input: {}) { id } }', ann)).toEqual({
      data: { updateNote: null },
      errors: [[['updateNote'], 'NOT_FOUND']],
    })
  })

  it('return null and an error entry for a secured record behind a public one', async () => {
    const text = '{ folders { name secrets { word } } }'
    expect(await codes(text, visitor)).toEqual({
      data: { folders: [{ name: 'F', secrets: null }] },
      errors: [[['folders', 0, 'secrets'], 'UNAUTHENTICATED']],
    })
    expect(await codes(text, ann)).toEqual({
      data: { folders: [{ name: 'F', secrets: null }] },
      errors: [[['folders', 0, 'secrets'], 'FORBIDDEN']],
    })
    expect((await run(text, admin)).data).toEqual({
      folders: [{ name: 'F', secrets: [{ word: 'w' }] }],
    })
  })

  it('return null and an error entry for a secured field, also in filters, orders and inputs', async () => {
    expect(await codes('{ folders { name remark } }', ann)).toEqual({
      data: { folders: [{ name: 'F', remark: null }] },
      errors: [[['folders', 0, 'remark'], 'FORBIDDEN']],
    })
    expect((await run('{ folders { remark } }', admin)).data).toEqual({
      folders: [{ remark: 'r' }],
    })
    const faulty = { data: { folders: null }, errors: [[['folders'], 'FORBIDDEN']] }
    expect(await codes('{ folders(where: { remark: { eq: "r" } }) { name } }', ann)).toEqual(faulty)
    expect(await codes('{ folders(orderBy: { remark: asc }) { name } }', ann)).toEqual(faulty)
    expect(
      await codes('{ folders(where: { secrets: { word: { eq: "w" } } }) { name } }', ann),
    ).toEqual(faulty)
    expect(
      await codes('mutation { updateFolder(id: 1, input: { remark: "x" }) { id } }', ann),
    ).toEqual({
      data: { updateFolder: null },
      errors: [[['updateFolder'], 'FORBIDDEN']],
    })
  })

  it('require a token for what a public mutation creates in addition', async () => {
    const text = 'mutation { createFolder(input: { name: "G", notes: [{ text: "x" }] }) { id } }'
    expect(await codes(text, visitor)).toEqual({
      data: { createFolder: null },
      errors: [[['createFolder'], 'UNAUTHENTICATED']],
    })
    expect(await database.records(Folder).count()).toBe(1)
    expect((await run(text, ann)).data).toEqual({ createFolder: { id: expect.any(String) } })
  })

  describe('the option mutations', () => {
    const create = 'mutation { createArticle(input: { title: "A" }) { title } }'

    it('leaves reading open and lets only its roles write', async () => {
      expect(await codes(create, visitor)).toEqual({
        data: null,
        errors: [[['createArticle'], 'UNAUTHENTICATED']],
      })
      expect(await codes(create, ann)).toEqual({
        data: null,
        errors: [[['createArticle'], 'FORBIDDEN']],
      })
      expect((await run(create, editor)).data).toEqual({ createArticle: { title: 'A' } })
      const update = 'mutation { updateArticle(id: 1, input: { title: "B" }) { title } }'
      expect(await codes(update, ann)).toMatchObject({ data: null })
      expect((await run(update, admin)).data).toEqual({ updateArticle: { title: 'B' } })
      expect(await codes('mutation { deleteArticle(id: 1) }', ann)).toMatchObject({ data: null })
      expect((await run('{ articles { title } articleCount }', visitor)).data).toEqual({
        articles: [{ title: 'B' }],
        articleCount: 1,
      })
    })

    it('applies to records created inside others', async () => {
      const text =
        'mutation { createRemark(input: { text: "x", article: { title: "N" } }) { article { title } } }'
      expect(await codes(text, ann)).toEqual({
        data: { createRemark: null },
        errors: [[['createRemark'], 'FORBIDDEN']],
      })
      expect(await database.records(Article).count()).toBe(0)
      expect((await run(text, editor)).data).toEqual({ createRemark: { article: { title: 'N' } } })
    })

    it('makes no mutations and no input for false, and none in others', () => {
      expect(plainSdl(graphql.sdl)).toContain('visits(limit: Int = 10')
      expect(plainSdl(graphql.sdl)).not.toMatch(/(?:create|update|delete)Visit\b|VisitInput/)
      expect(plainSdl(graphql.sdl)).toMatch(
        /input ArticleInput \{\s+title: String\s+remarks: \[RemarkNestedList!\]\s+\}/,
      )
    })

    it('leaves the names free for custom mutations', async () => {
      graphql.schema.addMutation('deleteVisit', { type: 'Boolean', resolve: () => true })
      expect((await run('mutation { deleteVisit }', ann)).data).toEqual({ deleteVisit: true })
    })
  })
})
