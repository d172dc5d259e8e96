/** What hooks are given, by every path that writes or deletes, and that they hold a domain. Source: docs/records/writes.md, Hooks. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import {
  AfterCommit,
  AfterDelete,
  type Application,
  Auth,
  BeforeDelete,
  BeforeWrite,
  BelongsTo,
  bootstrap,
  type CommitContext,
  connect,
  Controller,
  Database,
  type DeleteContext,
  Field,
  type Generated,
  HasMany,
  HttpError,
  Injectable,
  Module,
  NoAuth,
  Post,
  Record,
  type Rel,
  type WriteContext,
} from 'filigree'
import { startBothEngines } from './both-engines.js'
import { Desk, Ticket } from './help-desk.js'

@Injectable()
class Mailer {
  readonly sent: string[] = []
}

interface Seen {
  readonly before: string | null
  readonly after: string | null
  readonly changed?: readonly string[]
  readonly caller: string | undefined
  readonly by: string
}

let seen: Seen[] = []
let committed: Seen[] = []

@Record
class Note {
  @Field('id') id!: number
  @Field('string', { unique: true }) text!: string
  @Field('integer', { default: 0 }) size!: Generated<number>
  @Field('json', { optional: true, nullable: true }) words?: string[] | null
  @Field('string', { optional: true, nullable: true }) tag?: string | null
  @Field('integer', { optional: true, nullable: true }) bookId?: number | null
  @BelongsTo(() => Book, { onDelete: 'cascade' }) book!: Rel<Book>

  @BeforeWrite()
  async see({ before, changed, caller, by, records, get }: WriteContext<Note>) {
    seen.push({
      before: before && before.text,
      after: this.text,
      changed: [...changed].filter((name) => name !== 'bookId' && name !== 'id'),
      caller: caller?.sub,
      by,
    })
    this.tag = `${before?.text ?? ''}>${this.text}`
    await records(Log).create({ text: `wrote ${this.text}` })
    get(Mailer).sent.push(this.text)
  }

  @BeforeWrite()
  refuse() {
    if (this.text === 'no') throw new HttpError(409, 'Not this one.')
  }

  @AfterCommit()
  tell({ before, after, caller, by, get }: CommitContext<Note>) {
    committed.push({
      before: before && before.text,
      after: after && after.text,
      caller: caller?.sub,
      by,
    })
    get(Mailer).sent.push(`${this.text} ${this.tag ?? ''}`)
  }

  @BeforeDelete()
  async mayGo({ caller, by, records }: DeleteContext) {
    if (this.text === 'keep') throw new HttpError(409, 'This one stays.')
    seen.push({ before: this.text, after: null, caller: caller?.sub, by })
    await records(Log).create({ text: `deleted ${this.text}` })
  }

  @AfterDelete()
  gone({ before, after, caller, by }: CommitContext<Note>) {
    committed.push({
      before: before && before.text,
      after: after && after.text,
      caller: caller?.sub,
      by,
    })
  }
}

@Record
class Log {
  @Field('id') id!: number
  @Field('string') text!: string
}

@Record
class Book {
  @Field('id') id!: number
  @Field('string', { default: 'b' }) name!: Generated<string>
  @HasMany(() => Note) notes!: Rel<Note[]>
}

@Controller('/notes', { crud: Note })
class Notes {}

@Controller('/books', { crud: Book })
class Books {
  static inject = [Database]
  constructor(private readonly database: Database) {}

  @Post('/way/<name>')
  async way(name: string) {
    await (writes[name] ?? deletions[name])?.(this.database)
    return { done: true }
  }

  @NoAuth
  @Post('/open/<name>')
  open(name: string) {
    return this.way(name)
  }
}

@Module({ controllers: [Notes, Books], records: [Note, Book, Log], providers: [Mailer] })
class Library {}

type Way = (database: Database) => Promise<unknown>

/** Each changes the row 1, from `old` to `new`. */
const changes: { [name: string]: Way } = {
  update: (database) => database.records(Note).update(1, { text: 'new' }),
  'update, where': (database) =>
    database.records(Note).update(1, { text: 'new' }, { where: { text: 'old' } }),
  updateMany: (database) => database.records(Note).updateMany([{ id: 1, text: 'new' }]),
  updateWhere: (database) => database.records(Note).updateWhere({ id: 1 }, { text: 'new' }),
  'upsert, there': (database) =>
    database.records(Note).upsert({ id: 1, text: 'new' }, { by: 'id' }),
  'nested update': (database) =>
    database.records(Book).update(1, { notes: { update: [{ id: 1, text: 'new' }] } }),
  'in a transaction': (database) =>
    database.transaction((tx) => tx.records(Note).update(1, { text: 'new' })),
}

/** Each creates the row `new`. */
const creations: { [name: string]: Way } = {
  create: (database) => database.records(Note).create({ text: 'new' }),
  createMany: (database) => database.records(Note).createMany([{ text: 'new' }]),
  insertMany: (database) => database.records(Note).insertMany([{ text: 'new' }]),
  'upsert, new': (database) => database.records(Note).upsert({ text: 'new' }, { by: 'text' }),
  'nested create': (database) =>
    database.records(Book).update(1, { notes: { create: [{ text: 'new' }] } }),
}

/** Each deletes the row 1. */
const deletions: { [name: string]: Way } = {
  delete: (database) => database.records(Note).delete(1),
  deleteMany: (database) => database.records(Note).deleteMany([1, 99]),
  deleteWhere: (database) => database.records(Note).deleteWhere({ text: 'old' }),
  'nested delete': (database) => database.records(Book).update(1, { notes: { delete: [1] } }),
  'with its owner': (database) => database.records(Book).delete(1),
}

const writes: { [name: string]: Way } = { ...changes, ...creations }

const graphql = (text: string) => ['POST', '/graphql', { query: `mutation { ${text} }` }] as const
type Asked = readonly [method: string, url: string, json?: object]

const clientChanges: Asked[] = [
  ['PATCH', '/notes/1', { text: 'new' }],
  ['PUT', '/notes/1', { text: 'new', bookId: 1 }],
  ['PATCH', '/books/1', { notes: { update: [{ id: 1, text: 'new' }] } }],
  graphql('updateNote(id: 1, input: { text: "new" }) { id }'),
  graphql('updateNotes(input: [{ id: 1, text: "new" }]) { id }'),
  graphql('updateBook(id: 1, input: { notes: [{ update: [{ id: 1, text: "new" }] }] }) { id }'),
]
const clientCreations: Asked[] = [
  ['POST', '/notes', { text: 'new' }],
  ['POST', '/books', { notes: { create: [{ text: 'new' }] } }],
  graphql('createNote(input: { text: "new" }) { id }'),
  graphql('createNotes(input: [{ text: "new" }]) { id }'),
  graphql('upsertNote(by: text, input: { text: "new" }) { id }'),
]
const clientDeletions: Asked[] = [
  ['DELETE', '/notes/1'],
  ['DELETE', '/books/1'],
  ['PATCH', '/books/1', { notes: { delete: [1] } }],
  graphql('deleteNote(id: 1)'),
  graphql('deleteNotes(ids: [1])'),
]

const engines = await startBothEngines()

describe.each(engines)('hooks that hold a domain, on %s', (_, open) => {
  let app: Application
  let database: Database
  beforeAll(async () => {
    const env = { APP_JWT_SECRET: 'a secret of thirty-two characters', APP_API_KEY: 'key' }
    app = await bootstrap(Library, { listen: false, logger: false, database: await open(), env })
    database = app.get(Database)
  })
  afterAll(() => app.close())
  beforeEach(async () => {
    for (const name of ['note', 'book', 'log']) await database.kysely.deleteFrom(name).execute()
    await database.records(Book).create({ id: 1 })
    await database.records(Note).create({ id: 1, text: 'old', bookId: 1, words: ['a'] })
    await database.records(Log).deleteWhere({})
    seen = []
    committed = []
    app.get(Mailer).sent.length = 0
  })

  const ask = async (who: string, [method, url, json]: Asked): Promise<unknown> => {
    const token = who === 'key' ? 'key' : await app.get(Auth).getToken({ sub: who })
    const headers = { Authorization: `Bearer ${token}` }
    const answer = await app.inject({ method, url: encodeURI(url), headers, ...(json && { json }) })
    expect(answer.status).toBeLessThan(300)
    expect(answer.body).not.toContain('"errors"')
    return answer.body
  }
  const logged = async (): Promise<string[]> =>
    (await database.records(Log).list()).map(({ text }) => text)

  const changed = { before: 'old', after: 'new', changed: ['text'] }
  const created = { before: null, after: 'new', changed: ['text', 'size'] }
  const check = async (write: object, who: object): Promise<void> => {
    expect(seen).toStrictEqual([{ ...write, ...who }])
    const { before, after } = write as Seen
    expect(committed).toStrictEqual([{ before, after, ...who }])
    const [note] = await database.records(Note).list({ where: { text: 'new' } })
    expect(note).toMatchObject({ tag: `${before ?? ''}>new` })
    expect(await logged()).toStrictEqual(['wrote new'])
    expect(app.get(Mailer).sent).toStrictEqual(['new', `new ${before ?? ''}>new`])
  }
  const program = { caller: undefined, by: 'program' }

  it.each(Object.entries(changes))('see a change by %s', async (_name, write) => {
    await write(database)
    await check(changed, program)
  })
  it.each(Object.entries(creations))('see a creation by %s', async (_name, write) => {
    await write(database)
    await check(created, program)
  })
  it.each(clientChanges)('see a change of a client by %s %s %j', async (...asked) => {
    await ask('eve', asked)
    await check(changed, { caller: 'eve', by: 'token' })
  })
  it.each(clientCreations)('see a creation of a client by %s %s %j', async (...asked) => {
    await ask('eve', asked)
    await check(created, { caller: 'eve', by: 'token' })
  })
  it.each(Object.keys(writes))(
    'are told of who asks where a handler writes by %s',
    async (name) => {
      const write = name in changes ? changed : created
      await ask('ada', ['POST', `/books/way/${name}`])
      await check(write, { caller: 'ada', by: 'token' })
    },
  )

  it('tell the static key, callers without a token and the program apart', async () => {
    await ask('key', ['PATCH', '/notes/1', { text: 'new' }])
    expect(seen).toMatchObject([{ caller: undefined, by: 'key' }])
    await ask('key', ['POST', '/books/way/updateWhere'])
    expect(seen).toMatchObject([{ by: 'key' }, { by: 'key' }])
    const answer = await app.inject({ method: 'POST', url: '/books/open/create' })
    expect(answer.status).toBe(409)
    expect(seen[2]).toMatchObject({ caller: undefined, by: 'token' })
  })

  const deleted = async (who: object): Promise<void> => {
    expect(seen).toStrictEqual([{ before: 'old', after: null, ...who }])
    expect(committed).toStrictEqual([{ before: 'old', after: null, ...who }])
    expect(await logged()).toStrictEqual(['deleted old'])
    expect(await database.records(Note).count()).toBe(0)
  }
  it.each(Object.entries(deletions))('see a deletion by %s', async (_name, remove) => {
    await remove(database)
    await deleted(program)
  })
  it.each(clientDeletions)('see a deletion of a client by %s %s %j', async (...asked) => {
    await ask('eve', asked)
    await deleted({ caller: 'eve', by: 'token' })
  })

  it('refuse a deletion by every path, and nothing is deleted', async () => {
    await database.records(Note).update(1, { text: 'keep' })
    for (const [name, remove] of Object.entries(deletions)) {
      if (name === 'deleteWhere') continue
      await expect(remove(database)).rejects.toMatchObject({ status: 409 })
    }
    await expect(database.records(Note).deleteWhere({})).rejects.toMatchObject({ status: 409 })
    expect(await database.records(Note).count()).toBe(1)
    expect(await database.records(Book).count()).toBe(1)
  })

  it('leave nothing of a refused write, and nothing is told after it', async () => {
    await expect(database.records(Note).update(1, { text: 'no' })).rejects.toMatchObject({
      status: 409,
    })
    await expect(
      database.records(Note).insertMany([{ text: 'yes' }, { text: 'no' }]),
    ).rejects.toMatchObject({ status: 409 })
    expect(await logged()).toStrictEqual([])
    expect(committed).toStrictEqual([])
  })

  it('name as changed what differs, not what is named', async () => {
    const notes = database.records(Note)
    await notes.update(1, { text: 'old', size: 0, words: ['a'] })
    await notes.update(1, { size: { add: 2 }, words: ['a', 'b'] })
    expect(seen.map(({ changed: names }) => names)).toStrictEqual([[], ['size', 'words']])
  })
})

@Record
class Draft {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('string', { readOnly: true }) slug!: Generated<string>

  @BeforeWrite()
  prepare({ before, get }: WriteContext<Draft>) {
    if (before) (before as { title: string }).title = 'x'
    if (this.title === 'ask') get(Mailer)
    this.slug = this.title.toLowerCase()
  }
}

describe('a hook', () => {
  it('cannot change the row as it was', async () => {
    const drafts = (await opened()).records(Draft)
    await drafts.create({ title: 'A' })
    await expect(drafts.update(1, { title: 'B' })).rejects.toThrow(TypeError)
  })

  it('is no reason for a 500 where it meets a row without its required values', async () => {
    const drafts = (await opened()).records(Draft)
    await expect(drafts.create({} as never)).rejects.toMatchObject({
      status: 400,
      errors: [{ path: 'title', code: 'required' }],
    })
  })

  it('is told what to do where it asks for a provider outside of an application', async () => {
    const drafts = (await opened()).records(Draft)
    await expect(drafts.create({ title: 'ask' })).rejects.toThrow(/get: Mailer .* bootstrap/)
  })

  const opened = async (): Promise<Database> => {
    const database = await connect('sqlite::memory:', { records: [Draft] })
    await database.sync()
    return database
  }
})

describe.each(engines)('the example of the documentation, on %s', (_, open) => {
  let database: Database
  beforeAll(async () => {
    database = await connect(await open(), { records: [Ticket, Desk] })
    await database.sync()
    await database.records(Desk).createMany([{ name: 'first' }, { name: 'second' }])
  })
  afterAll(() => database.close())
  const counts = async (): Promise<number[]> =>
    (await database.records(Desk).list()).map(({ unsolved }) => unsolved)

  it('stands there as it runs here', () => {
    const root = new URL('../../', import.meta.url)
    const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')
    const code = read('test/records/help-desk.ts')
    const page = read('docs/records/writes.md')
    const blocks = [...page.matchAll(/^```ts\n([^]*?)^```/gm)].map(([, block = '']) => block)
    const shown = blocks.filter(
      (block) => block.includes('class Ticket') || block.includes('class Desk'),
    )
    expect(shown.length).toBeGreaterThan(0)
    // `…` stands for parts of the class that the page leaves out.
    for (const part of shown.flatMap((block) => block.split(/^ *…\n/m)))
      expect(code.replaceAll('export class', 'class')).toContain(part.trim())
  })

  it('holds the status, the number beside and the rule across records', async () => {
    const tickets = database.records(Ticket)
    const desks = database.records(Desk)
    const refused = { status: 409 }
    const lamp = await tickets.create({ title: 'Lamp', deskId: 1 })
    await tickets.insertMany([
      { title: 'Desk', deskId: 1 },
      { title: 'Chair', deskId: 2 },
    ])
    expect(await counts()).toStrictEqual([2, 1])
    await tickets.update(lamp.id, { status: 'solved' })
    await expect(tickets.update(lamp.id, { status: 'waiting' })).rejects.toMatchObject(refused)
    await expect(tickets.updateWhere({}, { status: 'waiting' })).rejects.toMatchObject(refused)
    expect(await counts()).toStrictEqual([1, 1])
    await tickets.updateWhere({ title: 'Chair' }, { deskId: 1 })
    expect(await counts()).toStrictEqual([2, 0])
    await expect(desks.update(1, { closed: true })).rejects.toMatchObject(refused)
    await desks.update(2, { closed: true })
    await expect(tickets.create({ title: 'x', deskId: 2 })).rejects.toMatchObject(refused)
    await tickets.deleteWhere({ deskId: 1 })
    expect(await counts()).toStrictEqual([0, 0])
    await desks.update(1, { closed: true })
  })

  it('counts right where many write at once', async () => {
    const { id } = await database.records(Desk).create({ name: 'third' })
    const tickets = database.records(Ticket)
    await Promise.all(
      Array.from({ length: 12 }, (__, index) => tickets.create({ title: `${index}`, deskId: id })),
    )
    expect(await database.records(Desk).find(id)).toMatchObject({ unsolved: 12 })
  })
})
