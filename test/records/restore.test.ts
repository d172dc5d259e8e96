/** Rows of records with `softDelete` are restored: by the program, and by callers with the right to delete. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  AfterCommit,
  AfterWrite,
  BeforeWrite,
  BelongsTo,
  Controller,
  Database,
  Field,
  Get,
  HttpError,
  Module,
  Post,
  Record as Table,
  recordsAs,
  Secured,
  type CommitContext,
  type HttpRequest,
  type Rel,
  type WriteContext,
} from '../../src/index.js'
import { testApplication, type TestApplication } from '../../src/modules/testing/testing.js'
import { startBothEngines } from './both-engines.js'

const calls: unknown[] = []

@Table<Folder>({
  softDelete: true,
  writes: 'editor',
  rows: (user) => (user?.roles?.includes('chief') === true ? true : { owner: String(user?.sub) }),
})
class Folder {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string
  @Field('string') owner!: string
  deletedAt!: string | null
}

@Table<Note>({ softDelete: true, version: true, timestamps: true, writes: { delete: 'editor' } })
class Note {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('integer', { nullable: true, optional: true }) folderId?: number | null
  @BelongsTo(() => Folder, { onDelete: 'cascade' }) folder!: Rel<Folder | null>
  deletedAt!: string | null
  version!: number

  @BeforeWrite() check({ before }: WriteContext<Note>): void {
    if (this.title === 'refused' && before?.deletedAt != null)
      throw new HttpError(409, 'It stays deleted.')
  }

  @AfterWrite() written({ before, changed }: WriteContext<Note>): void {
    calls.push(['written', before?.deletedAt != null, changed.has('deletedAt'), this.deletedAt])
  }

  @AfterCommit() committed({ after }: CommitContext<Note>): void {
    calls.push(['committed', after?.title])
  }
}

@Table
class Plain {
  @Field('id') id!: number
}

@Secured
@Controller('/bin')
class BinController {
  static readonly inject = [Database]
  constructor(private readonly database: Database) {}

  @Get('/folders') async folders(request: HttpRequest): Promise<object> {
    const { after } = request.query
    const page = { limit: 2, after: after === undefined ? undefined : String(after) }
    const { rows, next } = await recordsAs(this.database, Folder, request).deleted(page)
    return { names: rows.map(({ name }) => name), next }
  }

  @Post('/folders/<id:int>') restoreFolder(id: number, request: HttpRequest): Promise<boolean> {
    return recordsAs(this.database, Folder, request).restore(id)
  }

  @Post('/notes/<id:int>') restoreNote(id: number, request: HttpRequest): Promise<boolean> {
    return recordsAs(this.database, Note, request).restore(id)
  }
}

@Controller('/folders', { crud: Folder })
class Folders {}

@Module({ controllers: [BinController, Folders], records: [Folder, Note, Plain] })
class BinModule {}

const engines = await startBothEngines()

describe.each(engines)('restoring rows: %s', (_name, address) => {
  let app: TestApplication
  let database: Database
  beforeAll(async () => {
    app = await testApplication(BinModule, { database: await address() })
    database = app.get(Database)
  })
  beforeEach(() => app.reset({ emptyTables: true }))
  afterEach(() => {
    calls.splice(0)
  })
  afterAll(() => app.close())

  const folders = () => database.records(Folder)
  const notes = () => database.records(Note)
  const ann = () => app.as({ sub: 'ann', roles: ['editor'] })
  const bob = () => app.as({ sub: 'bob', roles: ['editor'] })

  it('takes the mark away, increments the version and runs the hooks of a write', async () => {
    const { id } = await notes().create({ title: 'Milk' })
    await notes().delete(id)
    expect(await notes().find(id)).toBeNull()
    calls.splice(0)
    expect(await notes().restore(id)).toMatchObject({ id, title: 'Milk', deletedAt: null })
    expect(calls).toEqual([
      ['written', true, true, null],
      ['committed', 'Milk'],
    ])
    expect(await notes().find(id)).toMatchObject({ title: 'Milk', version: 2 })
    expect(await notes().restore(id)).toBeNull()
    expect(await notes().restore(999)).toBeNull()
  })

  it('is refused by a hook, by a taken unique value and by a deleted row that it refers to', async () => {
    const refused = await notes().create({ title: 'refused' })
    await notes().delete(refused.id)
    await expect(notes().restore(refused.id)).rejects.toMatchObject({ status: 409 })
    const first = await folders().create({ name: 'A', owner: 'ann' })
    const note = await notes().create({ title: 'Milk', folderId: first.id })
    await folders().delete(first.id)
    expect(await notes().find(note.id)).toBeNull()
    await expect(notes().restore(note.id)).rejects.toMatchObject({ status: 409 })
    const second = await folders().create({ name: 'A', owner: 'ann' })
    await expect(folders().restore(first.id)).rejects.toMatchObject({
      status: 409,
      message: 'name is already taken',
    })
    await folders().delete(second.id)
    await folders().restore(first.id)
    // Rows that were deleted with it stay deleted.
    expect(await notes().find(note.id)).toBeNull()
    expect(await notes().restore(note.id)).toMatchObject({ folderId: first.id })
  })

  it('says that a record has no deleted rows', async () => {
    await expect(database.records(Plain).restore(1)).rejects.toThrow(
      'Plain has no deleted rows to restore. Write @Record({ softDelete: true }).',
    )
  })

  it('needs the right to delete, and shows and restores only rows that the caller could see', async () => {
    for (const [name, owner] of [
      ['A', 'ann'],
      ['B', 'bob'],
      ['C', 'ann'],
      ['D', 'ann'],
    ] as const) {
      const { id } = await folders().create({ name, owner })
      await folders().delete(id)
      await new Promise((resolve) => setTimeout(resolve, 3))
    }
    await folders().create({ name: 'E', owner: 'ann' })
    const page = await ann().get('/bin/folders')
    const { next } = page.body as { next: string }
    expect(page.body).toEqual({ names: ['D', 'C'], next: expect.any(String) })
    const rest = await ann().get(`/bin/folders?after=${encodeURIComponent(next)}`)
    expect(rest.body).toEqual({ names: ['A'] })
    expect((await bob().get('/bin/folders')).body).toEqual({ names: ['B'] })
    const reader = app.as({ sub: 'ann', roles: ['reader'] })
    expect((await reader.get('/bin/folders')).status).toBe(403)
    expect((await reader.post('/bin/folders/1')).status).toBe(403)
    expect((await bob().post('/bin/folders/1')).body).toBe(false)
    expect((await ann().post('/bin/folders/1')).body).toBe(true)
    expect((await ann().post('/bin/folders/1')).body).toBe(false)
    expect((await ann().get('/folders?orderBy=name')).body).toMatchObject([
      { name: 'A' },
      { name: 'E' },
    ])
    expect(
      (await app.as({ sub: 'x', roles: ['chief', 'editor'] }).get('/bin/folders')).body,
    ).toEqual({ names: ['D', 'C'], next: expect.any(String) })
  })

  it('restores a row of a client through its hooks', async () => {
    const { id } = await notes().create({ title: 'refused' })
    await notes().delete(id)
    expect(await ann().post(`/bin/notes/${id}`)).toMatchObject({
      status: 409,
      body: { error: 'It stays deleted.' },
    })
    expect((await app.as({ sub: 'eve', roles: [] }).post(`/bin/notes/${id}`)).status).toBe(403)
  })
})
