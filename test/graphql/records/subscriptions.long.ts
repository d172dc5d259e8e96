import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  type Application,
  Auth,
  BelongsTo,
  bootstrap,
  Field,
  type Generated,
  GraphQL,
  HasMany,
  Module,
  NoAuth,
  Record,
  type Rel,
  Secured,
  Database,
  type Row,
} from 'filigree'
import type { Statement } from '../../../src/engines/contract/engine.js'
import { makePair } from '../../auth/key-pair.js'
import { bothEngines, reusing } from '../../records/both-engines.js'
import { startPostgres } from '../../records/postgres-server.js'
import { subscribe, type EventClient } from '../event-client.js'
import { countStatements } from '../planner/count-statements.js'
import { runSql } from '../../records/run-sql.js'
import { waitUntil } from '../../wait-until.js'
import { internalsOf } from '../../records/open-database.js'

@Record
@NoAuth
class Folder {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Note) notes!: Rel<Note[]>
  @Secured('admin')
  @Field('string', { optional: true, nullable: true })
  remark?: string | null
}

@Record({
  rows: (user) =>
    user?.sub === 'root' ? true : { or: [{ owner: user?.sub ?? '' }, { open: true }] },
})
class Note {
  @Field('id') id!: number
  @Field('string') text!: string
  @Field('string', { hidden: true, default: 'ann' }) owner!: Generated<string>
  @Field('boolean', { default: false }) open!: Generated<boolean>
  @Field('integer') folderId!: number
  @BelongsTo(() => Folder, { onDelete: 'cascade' }) folder!: Rel<Folder>
}

@Record
@Secured('admin')
class Secret {
  @Field('id') id!: number
  @Field('string') word!: string
}

@Record({ softDelete: true, rows: (user) => ({ owner: user?.sub ?? '' }) })
class Event {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') owner!: string
}

@Module({ records: [Folder, Note, Secret, Event] })
class NotesModule {}

const { privatePem } = makePair()

const server = await startPostgres()
afterAll(() => server.close())

function reads(table: string): (statement: Statement) => boolean {
  return ({ kind, tables }) => kind === 'select' && tables[0] === table
}

function start(database: string): Promise<Application> {
  return bootstrap(NotesModule, {
    database,
    port: 0,
    host: '127.0.0.1',
    logger: false,
    env: { APP_PRIVATE_KEY: privatePem },
    times: { linger: 20 },
  })
}

describe.each(bothEngines(server))('subscriptions of records on %s', (_name, open) => {
  let app: Application
  let database: Database
  const openEmpty = reusing(open)
  beforeEach(async () => {
    app = await start(await openEmpty())
    database = app.get(Database)
  })
  afterEach(() => app.close())

  const tokenOf = (sub: string, claims: object = {}): Promise<string> =>
    app.get(Auth).getToken({ sub, ...claims })
  const follow = async (query: string, sub?: string, claims?: object): Promise<EventClient> =>
    subscribe(`${app.url}/graphql`, query, {
      token: sub === undefined ? undefined : await tokenOf(sub, claims),
    })
  const nobodyListens = (): Promise<void> =>
    waitUntil(() => internalsOf(database).feed.size === 0 && app.graphql.streams.size === 0)

  it('report each change with the current record', async () => {
    const client = await follow(
      'subscription { folderChanged { event id __typename folder { id name notes { text } } } }',
    )
    const folders = database.records(Folder)
    const { id } = await folders.create({ name: 'F' })
    const eventOf = (event: string, folder: unknown) => ({
      data: { folderChanged: { event, id: String(id), __typename: 'FolderChange', folder } },
    })
    expect(await client.next()).toEqual(
      eventOf('created', { id: String(id), name: 'F', notes: [] }),
    )
    await database.records(Note).create({ text: 'n', folderId: id, open: true })
    await folders.update(id, { name: 'G' })
    const notes = [{ text: 'n' }]
    expect(await client.next()).toEqual(eventOf('updated', { id: String(id), name: 'G', notes }))
    await folders.delete(id)
    expect(await client.next()).toEqual(eventOf('deleted', null))
  })

  it('can be opened with GET, too, with variables, fragments and directives', async () => {
    const query = `subscription ($yes: Boolean!) { changed: folderChanged { ...all id @skip(if: $yes) } }
      fragment all on FolderChange { event folder @include(if: $yes) { name } }`
    const client = await subscribe(`${app.url}/graphql`, query, { variables: { yes: true } })
    const url = `${app.url}/graphql?query=${encodeURIComponent(query)}&variables={"yes":false}`
    const abort = new AbortController()
    const response = await fetch(url, {
      headers: { accept: 'text/event-stream' },
      signal: abort.signal,
    })
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    const { id } = await database.records(Folder).create({ name: 'F' })
    expect(await client.next()).toEqual({
      data: { changed: { event: 'created', folder: { name: 'F' } } },
    })
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    let text = ''
    while (!text.includes('created'))
      text += Buffer.from((await reader.read()).value ?? []).toString()
    expect(text).toContain(`{"data":{"changed":{"event":"created","id":"${id}"}}}`)
    abort.abort()
  })

  it('are sent after the commit, and not after a rollback', async () => {
    const client = await follow('subscription { folderChanged { event folder { name } } }')
    await database
      .transaction(async (tx) => {
        await tx.records(Folder).create({ name: 'no' })
        throw new Error('no')
      })
      .catch(() => undefined)
    await database.records(Folder).insertMany([{ name: 'a' }, { name: 'b' }])
    const token = await tokenOf('ann')
    const query = 'mutation { createFolder(input: { name: "c" }) { id } }'
    await app.inject({
      method: 'POST',
      url: '/graphql',
      headers: { authorization: `Bearer ${token}` },
      json: { query },
    })
    for (const name of ['a', 'b', 'c'])
      expect(await client.next()).toEqual({
        data: { folderChanged: { event: 'created', folder: { name } } },
      })
  })

  it('report no rows that the subscriber may not see, deleted ones included', async () => {
    const query = 'subscription { noteChanged { event id note { text } } }'
    const [visitor, ann, bob, root] = await Promise.all(
      [undefined, 'ann', 'bob', 'root'].map((sub) => follow(query, sub)),
    )
    const folder = await database.records(Folder).create({ name: 'F' })
    const notes = database.records(Note)
    const create = (text: string, owner: string, values: Partial<Note> = {}): Promise<Row<Note>> =>
      notes.create({ text, owner, folderId: folder.id, ...values })
    const a = await create('a', 'ann')
    const b = await create('b', 'bob')
    await notes.update(b.id, { text: 'b2' })
    await notes.delete(a.id)
    await notes.delete(b.id)
    const last = await create('last', 'ann', { open: true })
    const eventsOf = async (client: EventClient | undefined): Promise<string[]> => {
      const all: string[] = []
      for (;;) {
        const { data } = (await client?.next()) as {
          data: { noteChanged: { event: string; id: string; note: { text: string } | null } }
        }
        const { event, id, note } = data.noteChanged
        all.push(`${event} ${id} ${note?.text ?? ''}`.trim())
        if (id === String(last.id)) return all
      }
    }
    const end = `created ${last.id} last`
    expect(await eventsOf(visitor)).toEqual([end])
    // A row that is deleted before it is read is not reported.
    const [mine, theirs] = [await eventsOf(ann), await eventsOf(bob)]
    expect(mine.slice(-2)).toEqual([`deleted ${a.id}`, end])
    expect(mine.filter((expected) => expected.includes(` ${b.id}`))).toEqual([])
    expect(theirs.slice(-2)).toEqual([`deleted ${b.id}`, end])
    expect(theirs.filter((expected) => expected.includes(` ${a.id}`))).toEqual([])
    expect((await eventsOf(root)).slice(-3)).toEqual([`deleted ${a.id}`, `deleted ${b.id}`, end])
  })

  it('report cascaded deletes to the former owners', async () => {
    const folder = await database.records(Folder).create({ name: 'F' })
    const notes = database.records(Note)
    const a = await notes.create({ text: 'a', owner: 'ann', folderId: folder.id })
    await notes.create({ text: 'b', owner: 'bob', folderId: folder.id })
    const ann = await follow('subscription { noteChanged { event id } }', 'ann')
    await database.records(Folder).delete(folder.id)
    const other = await database.records(Folder).create({ name: 'G' })
    const last = await notes.create({ text: 'c', owner: 'ann', folderId: other.id })
    expect(await ann.next()).toEqual({
      data: { noteChanged: { event: 'deleted', id: String(a.id) } },
    })
    expect(await ann.next()).toEqual({
      data: { noteChanged: { event: 'created', id: String(last.id) } },
    })
  })

  it('know the owner of a soft-deleted row, and support a record named Event', async () => {
    const query = 'subscription { eventChanged { event id eventRecord { owner } } }'
    const ann = await follow(query, 'ann')
    const bob = await follow(query, 'bob')
    const events = database.records(Event)
    const { id } = await events.create({ owner: 'ann' })
    expect(await ann.next()).toEqual({
      data: { eventChanged: { event: 'created', id, eventRecord: { owner: 'ann' } } },
    })
    await events.delete(id)
    expect(await ann.next()).toEqual({
      data: { eventChanged: { event: 'deleted', id, eventRecord: null } },
    })
    const other = await events.create({ owner: 'bob' })
    expect(await bob.next()).toMatchObject({ data: { eventChanged: { id: other.id } } })
  })

  it('require the right to read the record, and its fields', async () => {
    const query = 'subscription { secretChanged { id secret { word } } }'
    await expect(follow(query)).rejects.toMatchObject({
      message: '401',
      body: { error: 'Unauthorized', code: 'UNAUTHENTICATED', data: null },
    })
    await expect(follow(query, 'ann')).rejects.toMatchObject({
      message: '403',
      body: { errors: [{ path: ['secretChanged'], extensions: { code: 'FORBIDDEN' } }] },
    })
    const admin = await follow(query, 'root', { roles: ['admin'] })
    const { id } = await database.records(Secret).create({ word: 'w' })
    expect(await admin.next()).toEqual({
      data: { secretChanged: { id: String(id), secret: { word: 'w' } } },
    })
    const visitor = await follow('subscription { folderChanged { folder { name remark } } }')
    await database.records(Folder).create({ name: 'F', remark: 'r' })
    expect(await visitor.next()).toMatchObject({
      data: { folderChanged: { folder: { name: 'F', remark: null } } },
      errors: [
        {
          path: ['folderChanged', 'folder', 'remark'],
          extensions: { code: 'UNAUTHENTICATED' },
        },
      ],
    })
  })

  it('end with the token', async () => {
    const token = await app.get(Auth).getToken({ sub: 'ann' }, { expiresIn: 100 })
    const client = await subscribe(`${app.url}/graphql`, 'subscription { folderChanged { id } }', {
      token,
    })
    const now = Date.now
    Date.now = () => now() + 101_000
    try {
      await database.records(Folder).create({ name: 'F' })
      expect(await client.next()).toMatchObject({
        data: { folderChanged: null },
        errors: [{ path: ['folderChanged'], extensions: { code: 'UNAUTHENTICATED' } }],
      })
      expect(await client.next()).toBeUndefined()
    } finally {
      Date.now = now
    }
    await nobodyListens()
  })

  it('read a row once for all subscribers with the same selection', async () => {
    const query = 'subscription { folderChanged { folder { name } } }'
    const { statements } = await countStatements(database, async () => {
      const clients = await Promise.all([follow(query), follow(query), follow(query, 'ann')])
      await database.records(Folder).create({ name: 'F' })
      for (const client of clients)
        expect(await client.next()).toEqual({ data: { folderChanged: { folder: { name: 'F' } } } })
    })
    const reading = statements.filter(reads('folder'))
    expect(reading.map(({ kind }) => kind)).toEqual(['select'])
  })

  it('read a row once for all subscribers with the same access, deleted ones included', async () => {
    const query = 'subscription { noteChanged { event note { text } } }'
    const subs = ['ann', 'ann', 'bob', undefined, undefined, 'root']
    const clients = await Promise.all(subs.map((sub) => follow(query, sub)))
    const folder = await database.records(Folder).create({ name: 'F' })
    const { statements } = await countStatements(database, async () => {
      const note = { text: 'n', owner: 'ann', open: true, folderId: folder.id }
      await database.records(Note).create(note)
      for (const client of clients)
        expect(await client.next()).toEqual({
          data: { noteChanged: { event: 'created', note: { text: 'n' } } },
        })
    })
    // One read each for ann, bob, visitors and root.
    expect(statements.filter(reads('note'))).toHaveLength(4)
    const ownNote = await database
      .records(Note)
      .create({ text: 'own', owner: 'ann', folderId: folder.id })
    for (const index of [0, 1, 5])
      expect(await clients[index]?.next()).toMatchObject({
        data: { noteChanged: { event: 'created', note: { text: 'own' } } },
      })
    await database.records(Note).delete(ownNote.id)
    for (const index of [0, 1, 5])
      expect(await clients[index]?.next()).toMatchObject({
        data: { noteChanged: { event: 'deleted', note: null } },
      })
  })

  it('read the relations of a row once for all subscribers with the same selection', async () => {
    const query =
      'subscription { noteChanged { note { text folder { name notes(orderBy: { id: asc }) { text } } } } }'
    const subs = ['ann', 'ann', 'bob', 'bob', undefined, undefined, 'root']
    const folder = await database.records(Folder).create({ name: 'F' })
    const notes = database.records(Note)
    await notes.insertMany([{ text: 'of ann', folderId: folder.id }])
    const clients = await Promise.all(subs.map((sub) => follow(query, sub)))
    const { statements } = await countStatements(database, async () => {
      await notes.create({ text: 'n', owner: 'bob', open: true, folderId: folder.id })
      for (const [index, client] of clients.entries()) {
        const visibleNotes = ['ann', 'root'].includes(subs[index] ?? '') ? [{ text: 'of ann' }] : []
        const expected = {
          text: 'n',
          folder: { name: 'F', notes: [...visibleNotes, { text: 'n' }] },
        }
        expect(await client.next()).toEqual({ data: { noteChanged: { note: expected } } })
      }
    })
    // A note, its folder and the folder's notes are read for ann, bob, visitors and root. Everyone may read the folder,
    // which is read below a note of each.
    const read = statements.filter(({ kind }) => kind === 'select').map(({ sql }) => sql)
    expect(read.filter((sql) => sql.includes('filigree_led'))).toHaveLength(4)
    expect(
      read.filter((sql) => sql.includes('"folder"') && !sql.includes('filigree_led')),
    ).toHaveLength(1)
  })

  it('release everything when clients disconnect, also during the access check', async () => {
    const query = 'subscription { folderChanged { id } }'
    const clients = await Promise.all([follow(query), follow(query), follow(query, 'ann')])
    expect(internalsOf(database).feed.size).toBe(3)
    for (const client of clients) client.leave()
    await nobodyListens()
    const abort = new AbortController()
    const opening = fetch(`${app.url}/graphql?query=${encodeURIComponent(query)}`, {
      headers: { accept: 'text/event-stream' },
      signal: abort.signal,
    })
    await waitUntil(() => internalsOf(database).feed.size > 0)
    abort.abort()
    await opening.catch(() => undefined)
    await nobodyListens()
  })

  it('report lost changes where they come faster than the client reads', async () => {
    const client = await follow('subscription { folderChanged { event folder { name } } }')
    const many = Array.from({ length: 2500 }, (_, index) => ({ name: `n${index}` }))
    await database.records(Folder).insertMany(many)
    let result = await client.next()
    while (result?.errors === undefined) result = await client.next()
    expect(result).toMatchObject({
      data: { folderChanged: null },
      errors: [
        {
          message: 'Some changes were lost. Reload the data.',
          path: ['folderChanged'],
          extensions: { code: 'EVENTS_LOST' },
        },
      ],
    })
    await database.records(Folder).create({ name: 'last' })
    do result = await client.next()
    while (JSON.stringify(result).includes('"name":"n'))
    expect(result).toEqual({
      data: { folderChanged: { event: 'created', folder: { name: 'last' } } },
    })
  })

  it('end with the application', async () => {
    const client = await follow('subscription { folderChanged { id } }')
    const closing = app.close()
    expect(await client.next()).toBeUndefined()
    await closing
    expect(internalsOf(database).feed.size).toBe(0)
  })

  it.each([
    ['subscription { folderChanged }', 'GRAPHQL_VALIDATION_FAILED'],
    ['subscription { folderChanged { secret } }', 'GRAPHQL_VALIDATION_FAILED'],
    ['subscription { noteChanged { note { owner } } }', 'GRAPHQL_VALIDATION_FAILED'],
    ['subscription { folderChanged { id } noteChanged { id } }', 'GRAPHQL_VALIDATION_FAILED'],
    ['subscription { ...a } fragment a on Subscription { ...a }', 'GRAPHQL_VALIDATION_FAILED'],
    ['subscription { folderChanged(limit: 1) { id } }', 'GRAPHQL_VALIDATION_FAILED'],
    ['subscription { categoryChanged { id } }', 'GRAPHQL_VALIDATION_FAILED'],
    ['subscription { folderChanged { id }', 'GRAPHQL_PARSE_FAILED'],
    [
      'subscription ($n: Int!) { folderChanged { folder { notes(limit: $n) { id } } } }',
      'BAD_VARIABLES',
    ],
    [
      'subscription { folderChanged { folder { notes(limit: 1000) { folder { notes(limit: 1000) { id } } } } } }',
      'TOO_COSTLY',
    ],
  ])('cannot be opened by %s', async (query, code) => {
    const client = await follow(query)
    expect(await client.next()).toMatchObject({ errors: [{ extensions: { code } }] })
    expect(await client.next()).toBeUndefined()
    expect(internalsOf(database).feed.size).toBe(0)
  })

  it('are available to the program, which receives every row', async () => {
    const results = await app.graphql.subscribe(
      'subscription { noteChanged { event note { text } } }',
    )
    if (!(Symbol.asyncIterator in results)) throw new Error('no stream')
    const folder = await database.records(Folder).create({ name: 'F' })
    await database.records(Note).create({ text: 'b', owner: 'bob', folderId: folder.id })
    expect((await results.next()).value).toEqual({
      data: { noteChanged: { event: 'created', note: { text: 'b' } } },
    })
    await results.return?.()
    await nobodyListens()
  })
})

describe('subscriptions of two applications on one PostgreSQL database', () => {
  it('report writes of the other, and survive a cut connection', async () => {
    const url = await server.createDatabase()
    const [one, second] = [await start(url), await start(url)]
    try {
      const token = await one.get(Auth).getToken({ sub: 'ann' })
      const query = 'subscription { noteChanged { event id note { text folder { name } } } }'
      const ann = await subscribe(`${one.url}/graphql`, query, { token })
      const other = second.get(Database)
      const folder = await other.records(Folder).create({ name: 'F' })
      const [mine, , open] = await other.transaction(async (tx) => [
        await tx.records(Note).create({ text: 'a', owner: 'ann', folderId: folder.id }),
        await tx.records(Note).create({ text: 'b', owner: 'bob', folderId: folder.id }),
        await tx.records(Note).create({ text: 'c', owner: 'bob', open: true, folderId: folder.id }),
      ])
      for (const { id, text } of [mine, open])
        expect(await ann.next()).toEqual({
          data: {
            noteChanged: {
              event: 'created',
              id: String(id),
              note: { text, folder: { name: 'F' } },
            },
          },
        })
      await other.kysely.selectFrom('note').select('id').execute()
      await runSql(
        other,
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'filigree listener' and datname = current_database()`,
      )
      expect(await ann.next()).toMatchObject({ errors: [{ extensions: { code: 'EVENTS_LOST' } }] })
      await other.records(Folder).delete(folder.id)
      for (const { id } of [mine, open])
        expect(await ann.next()).toEqual({
          data: { noteChanged: { event: 'deleted', id: String(id), note: null } },
        })
    } finally {
      await Promise.all([one.close(), second.close()])
    }
  })
})

describe('subscriptions: false', () => {
  it('removes them', () => {
    const graphql = new GraphQL({ subscriptions: false })
    graphql.schema.fromOrm(Folder)
    expect(graphql.sdl).not.toMatch(/FolderChange\b|folderChanged|ChangeEvent/)
    expect(graphql.sdl).not.toContain('Subscription')
  })

  it('resolves the conflict of a record named like a change', () => {
    @Record
    class FolderChange {
      @Field('id') id!: number
    }
    const declare = (subscriptions: boolean): string => {
      const graphql = new GraphQL({ subscriptions })
      graphql.schema.fromOrm(Folder).fromOrm(FolderChange)
      return graphql.sdl
    }
    expect(() => declare(true)).toThrow(
      'Folder and FolderChange both make the GraphQL type "FolderChange".',
    )
    expect(() => declare(true)).toThrow('leave subscriptions out')
    expect(declare(false)).toContain('type FolderChange')
  })
})
