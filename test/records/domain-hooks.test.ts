/** The context of write and delete hooks through every path, and domain rules in hooks. Source: docs/records/writes.md, Hooks. */
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

interface HookCall {
  readonly before: string | null
  readonly after: string | null
  readonly changed?: readonly string[]
  readonly caller: string | undefined
  readonly by: string
}

let hookCalls: HookCall[] = []
let committed: HookCall[] = []

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
  async recordWrite({ before, changed, caller, by, records, get }: WriteContext<Note>) {
    hookCalls.push({
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
  recordCommit({ before, after, caller, by, get }: CommitContext<Note>) {
    committed.push({
      before: before && before.text,
      after: after && after.text,
      caller: caller?.sub,
      by,
    })
    get(Mailer).sent.push(`${this.text} ${this.tag ?? ''}`)
  }

  @BeforeDelete()
  async checkDeletion({ caller, by, records }: DeleteContext) {
    if (this.text === 'keep') throw new HttpError(409, 'This one stays.')
    hookCalls.push({ before: this.text, after: null, caller: caller?.sub, by })
    await records(Log).create({ text: `deleted ${this.text}` })
  }

  @AfterDelete()
  recordDeletion({ before, after, caller, by }: CommitContext<Note>) {
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

/** Each one updates row 1 from `old` to `new`. */
const changes: { [name: string]: Way } = {
  update: (database) => database.records(Note).update(1, { text: 'new' }),
  'update, where': (database) =>
    database.records(Note).update(1, { text: 'new' }, { where: { text: 'old' } }),
  updateMany: (database) => database.records(Note).updateMany([{ id: 1, text: 'new' }]),
  updateWhere: (database) => database.records(Note).updateWhere({ id: 1 }, { text: 'new' }),
  'upsert, existing': (database) =>
    database.records(Note).upsert({ id: 1, text: 'new' }, { by: 'id' }),
  'nested update': (database) =>
    database.records(Book).update(1, { notes: { update: [{ id: 1, text: 'new' }] } }),
  'in a transaction': (database) =>
    database.transaction((tx) => tx.records(Note).update(1, { text: 'new' })),
}

/** Each one creates the row `new`. */
const creations: { [name: string]: Way } = {
  create: (database) => database.records(Note).create({ text: 'new' }),
  createMany: (database) => database.records(Note).createMany([{ text: 'new' }]),
  insertMany: (database) => database.records(Note).insertMany([{ text: 'new' }]),
  'upsert, new': (database) => database.records(Note).upsert({ text: 'new' }, { by: 'text' }),
  'nested create': (database) =>
    database.records(Book).update(1, { notes: { create: [{ text: 'new' }] } }),
}

/** Each one deletes row 1. */
const deletions: { [name: string]: Way } = {
  delete: (database) => database.records(Note).delete(1),
  deleteMany: (database) => database.records(Note).deleteMany([1, 99]),
  deleteWhere: (database) => database.records(Note).deleteWhere({ text: 'old' }),
  'nested delete': (database) => database.records(Book).update(1, { notes: { delete: [1] } }),
  'with its owner': (database) => database.records(Book).delete(1),
}

const writes: { [name: string]: Way } = { ...changes, ...creations }

const graphql = (text: string) => ['POST', '/graphql', { query: `mutation { ${text} }` }] as const
type ClientRequest = readonly [method: string, url: string, json?: object]

const clientChanges: ClientRequest[] = [
  ['PATCH', '/notes/1', { text: 'new' }],
  ['PUT', '/notes/1', { text: 'new', bookId: 1 }],
  ['PATCH', '/books/1', { notes: { update: [{ id: 1, text: 'new' }] } }],
  graphql('updateNote(id: 1, input: { text: "new" }) { id }'),
  graphql('updateNotes(input: [{ id: 1, text: "new" }]) { id }'),
  graphql('updateBook(id: 1, input: { notes: [{ update: [{ id: 1, text: "new" }] }] }) { id }'),
]
const clientCreations: ClientRequest[] = [
  ['POST', '/notes', { text: 'new' }],
  ['POST', '/books', { notes: { create: [{ text: 'new' }] } }],
  graphql('createNote(input: { text: "new" }) { id }'),
  graphql('createNotes(input: [{ text: "new" }]) { id }'),
  graphql('upsertNote(by: text, input: { text: "new" }) { id }'),
]
const clientDeletions: ClientRequest[] = [
  ['DELETE', '/notes/1'],
  ['DELETE', '/books/1'],
  ['PATCH', '/books/1', { notes: { delete: [1] } }],
  graphql('deleteNote(id: 1)'),
  graphql('deleteNotes(ids: [1])'),
]

const engines = await startBothEngines()

describe.each(engines)('domain rules in hooks on %s', (_, open) => {
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
    hookCalls = []
    committed = []
    app.get(Mailer).sent.length = 0
  })

  const sendAs = async (user: string, [method, url, json]: ClientRequest): Promise<unknown> => {
    const token = user === 'key' ? 'key' : await app.get(Auth).getToken({ sub: user })
    const headers = { Authorization: `Bearer ${token}` }
    const response = await app.inject({
      method,
      url: encodeURI(url),
      headers,
      ...(json && { json }),
    })
    expect(response.status).toBeLessThan(300)
    expect(response.body).not.toContain('"errors"')
    return response.body
  }
  const logTexts = async (): Promise<string[]> =>
    (await database.records(Log).list()).map(({ text }) => text)

  const changed = { before: 'old', after: 'new', changed: ['text'] }
  const created = { before: null, after: 'new', changed: ['text', 'size'] }
  const expectWrite = async (write: object, user: object): Promise<void> => {
    expect(hookCalls).toStrictEqual([{ ...write, ...user }])
    const { before, after } = write as HookCall
    expect(committed).toStrictEqual([{ before, after, ...user }])
    const [note] = await database.records(Note).list({ where: { text: 'new' } })
    expect(note).toMatchObject({ tag: `${before ?? ''}>new` })
    expect(await logTexts()).toStrictEqual(['wrote new'])
    expect(app.get(Mailer).sent).toStrictEqual(['new', `new ${before ?? ''}>new`])
  }
  const program = { caller: undefined, by: 'program' }

  it.each(Object.entries(changes))('see an update with %s', async (_name, write) => {
    await write(database)
    await expectWrite(changed, program)
  })
  it.each(Object.entries(creations))('see a create with %s', async (_name, write) => {
    await write(database)
    await expectWrite(created, program)
  })
  it.each(clientChanges)('see an update by a client with %s %s %j', async (...request) => {
    await sendAs('eve', request)
    await expectWrite(changed, { caller: 'eve', by: 'token' })
  })
  it.each(clientCreations)('see a create by a client with %s %s %j', async (...request) => {
    await sendAs('eve', request)
    await expectWrite(created, { caller: 'eve', by: 'token' })
  })
  it.each(Object.keys(writes))('receive the caller when a handler writes with %s', async (name) => {
    const write = name in changes ? changed : created
    await sendAs('ada', ['POST', `/books/way/${name}`])
    await expectWrite(write, { caller: 'ada', by: 'token' })
  })

  it('distinguish the static key, callers without a token and the program', async () => {
    await sendAs('key', ['PATCH', '/notes/1', { text: 'new' }])
    expect(hookCalls).toMatchObject([{ caller: undefined, by: 'key' }])
    await sendAs('key', ['POST', '/books/way/updateWhere'])
    expect(hookCalls).toMatchObject([{ by: 'key' }, { by: 'key' }])
    const response = await app.inject({ method: 'POST', url: '/books/open/create' })
    expect(response.status).toBe(409)
    expect(hookCalls[2]).toMatchObject({ caller: undefined, by: 'token' })
  })

  const expectDeletion = async (user: object): Promise<void> => {
    expect(hookCalls).toStrictEqual([{ before: 'old', after: null, ...user }])
    expect(committed).toStrictEqual([{ before: 'old', after: null, ...user }])
    expect(await logTexts()).toStrictEqual(['deleted old'])
    expect(await database.records(Note).count()).toBe(0)
  }
  it.each(Object.entries(deletions))('see a deletion with %s', async (_name, remove) => {
    await remove(database)
    await expectDeletion(program)
  })
  it.each(clientDeletions)('see a deletion by a client with %s %s %j', async (...request) => {
    await sendAs('eve', request)
    await expectDeletion({ caller: 'eve', by: 'token' })
  })

  it('prevent a deletion through every path', async () => {
    await database.records(Note).update(1, { text: 'keep' })
    for (const [name, remove] of Object.entries(deletions)) {
      if (name === 'deleteWhere') continue
      await expect(remove(database)).rejects.toMatchObject({ status: 409 })
    }
    await expect(database.records(Note).deleteWhere({})).rejects.toMatchObject({ status: 409 })
    expect(await database.records(Note).count()).toBe(1)
    expect(await database.records(Book).count()).toBe(1)
  })

  it('leave no trace of a rejected write, and commit hooks do not run', async () => {
    await expect(database.records(Note).update(1, { text: 'no' })).rejects.toMatchObject({
      status: 409,
    })
    await expect(
      database.records(Note).insertMany([{ text: 'yes' }, { text: 'no' }]),
    ).rejects.toMatchObject({ status: 409 })
    expect(await logTexts()).toStrictEqual([])
    expect(committed).toStrictEqual([])
  })

  it('list changed values as changed, not all named fields', async () => {
    const notes = database.records(Note)
    await notes.update(1, { text: 'old', size: 0, words: ['a'] })
    await notes.update(1, { size: { add: 2 }, words: ['a', 'b'] })
    expect(hookCalls.map(({ changed: names }) => names)).toStrictEqual([[], ['size', 'words']])
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
  it('cannot modify the previous row', async () => {
    const drafts = (await openDrafts()).records(Draft)
    await drafts.create({ title: 'A' })
    await expect(drafts.update(1, { title: 'B' })).rejects.toThrow(TypeError)
  })

  it('does not cause a 500 for a row without required values', async () => {
    const drafts = (await openDrafts()).records(Draft)
    await expect(drafts.create({} as never)).rejects.toMatchObject({
      status: 400,
      errors: [{ path: 'title', code: 'required' }],
    })
  })

  it('throws an explanation when it requests a provider outside of an application', async () => {
    const drafts = (await openDrafts()).records(Draft)
    await expect(drafts.create({ title: 'ask' })).rejects.toThrow(/get: Mailer .* bootstrap/)
  })

  const openDrafts = async (): Promise<Database> => {
    const database = await connect('sqlite::memory:', { records: [Draft] })
    await database.sync()
    return database
  }
})

describe.each(engines)('the example of the documentation on %s', (_, open) => {
  let database: Database
  beforeAll(async () => {
    database = await connect(await open(), { records: [Ticket, Desk] })
    await database.sync()
    await database.records(Desk).createMany([{ name: 'first' }, { name: 'second' }])
  })
  afterAll(() => database.close())
  const counts = async (): Promise<number[]> =>
    (await database.records(Desk).list()).map(({ unsolved }) => unsolved)

  it('matches the tested file', () => {
    const root = new URL('../../', import.meta.url)
    const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')
    const code = read('test/records/help-desk.ts')
    const page = read('docs/records/writes.md')
    const blocks = [...page.matchAll(/^```ts\n([^]*?)^```/gm)].map(([, block = '']) => block)
    const examples = blocks.filter(
      (block) => block.includes('class Ticket') || block.includes('class Desk'),
    )
    expect(examples.length).toBeGreaterThan(0)
    // `…` marks parts of the class that the page leaves out.
    for (const part of examples.flatMap((block) => block.split(/^ *…\n/m)))
      expect(code.replaceAll('export class', 'class')).toContain(part.trim())
  })

  it('enforces the state machine, the stored counter and the rule across records', async () => {
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

  it('counts correctly under concurrent writes', async () => {
    const { id } = await database.records(Desk).create({ name: 'third' })
    const tickets = database.records(Ticket)
    await Promise.all(
      Array.from({ length: 12 }, (__, index) => tickets.create({ title: `${index}`, deskId: id })),
    )
    expect(await database.records(Desk).find(id)).toMatchObject({ unsolved: 12 })
  })
})
