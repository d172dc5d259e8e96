/** `importRows` and `exportRows`: a caller's file and a program's, over HTTP. Source: docs/csv.md. */
import { Readable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Auth,
  BeforeWrite,
  BelongsTo,
  connect,
  Controller,
  Database,
  exportRows,
  Field,
  Get,
  HttpError,
  importRows,
  ManyToMany,
  Module,
  Post,
  Record as Row,
  recordsAs,
  reply,
  Secured,
  type Application,
  type Generated,
  type HttpRequest,
  type ImportResult,
  type Rel,
  type Reply,
  type UploadedFile,
} from 'filigree'
import { startBothEngines } from '../records/both-engines.js'

@Row
class Project {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Row
class Label {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Row<Ticket>({
  rows: (user) => user?.roles?.includes('admin') === true || { team: String(user?.team) },
  writes: ['admin', 'editor'],
  version: true,
})
class Ticket {
  @Field('id') id!: number
  @Field('string', { minLength: 2 }) title!: string
  @Field('string') team!: string
  @Field('decimal', { scale: 2, min: '0', default: '0.00' }) hours!: Generated<string>
  @Field('integer', { nullable: true, optional: true }) projectId?: number | null
  @BelongsTo(() => Project) project!: Rel<Project | null>
  @ManyToMany(() => Label) labels!: Rel<Label[]>
  @Field('string', { unique: true, optional: true, nullable: true }) code?: string | null
  @Field('string', { nullable: true, optional: true, writes: 'admin' }) owner?: string | null
  @Field('string', { nullable: true, optional: true }) @Secured('admin') salary?: string | null
  @Field('string', { hidden: true, default: 'x' }) secret!: Generated<string>
  @Field('integer', { readOnly: true, default: 0 }) views!: Generated<number>
}

@Row
class Hooked {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('integer', { min: 1 }) size!: number
  @BeforeWrite() compute(): void {
    if (this.name === 'wrong') this.size = 0
  }
}

interface Upload {
  file?: UploadedFile
}

function fileOf({ file }: Upload): UploadedFile {
  if (file === undefined) throw new HttpError(400, 'file is required')
  return file
}

@Controller('/tickets')
class Tickets {
  static readonly inject = [Database]
  constructor(private readonly database: Database) {}

  @Post('/import', { limit: '20mb', timeout: 300_000 })
  add(files: Upload, request: HttpRequest): Promise<ImportResult> {
    return importRows(recordsAs(this.database, Ticket, request), fileOf(files))
  }

  @Post('/check', { limit: '20mb', timeout: 300_000 })
  check(files: Upload, request: HttpRequest): Promise<ImportResult> {
    return importRows(recordsAs(this.database, Ticket, request), fileOf(files), { check: true })
  }

  @Post('/trusted', { limit: '20mb', timeout: 300_000 })
  trusted(files: Upload): Promise<ImportResult> {
    return importRows(this.database.records(Ticket), fileOf(files), {
      columns: ['id', 'title', 'team', 'hours', 'owner'],
    })
  }

  @Post('/hooked')
  hooked(files: Upload): Promise<ImportResult> {
    return importRows(this.database.records(Hooked), fileOf(files))
  }

  @Get('/export')
  @Secured()
  async export(request: HttpRequest): Promise<Reply> {
    const { query } = request
    const lines = await exportRows(recordsAs(this.database, Ticket, request), { query })
    return reply(lines).type('text/csv; charset=utf-8')
  }
}

@Module({ controllers: [Tickets], records: [Project, Label, Ticket, Hooked] })
class Desk {}

describe.each(await startBothEngines())('a CSV file on %s', (_engine, open) => {
  let app: Application
  let database: Database
  let admin: string
  let editor: string
  beforeAll(async () => {
    app = await bootstrap(Desk, {
      ...{ port: 0, host: '127.0.0.1', logger: false, env: {}, database: await open() },
    })
    database = app.get(Database)
    await database.sync()
    admin = await app.get(Auth).getToken({ sub: 'ann', roles: ['admin'] })
    editor = await app.get(Auth).getToken({ sub: 'ed', roles: ['editor'], team: 'a' })
  })
  beforeEach(async () => {
    for (const type of [Ticket, Project, Label, Hooked] as const)
      await database.records<object>(type).deleteWhere({})
  })
  afterAll(() => app.close())

  const tickets = () => database.records(Ticket)
  const send = async (path: string, file: string | Buffer, token = admin) => {
    const form = new FormData()
    form.set('file', new Blob([file as string], { type: 'text/csv' }), 'tickets.csv')
    const response = await fetch(`${app.url}/tickets/${path}`, {
      ...{ method: 'POST', body: form, headers: { authorization: `Bearer ${token}` } },
    })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }

  it('is imported from an upload: with a byte order mark, quotes, CRLF and semicolons', async () => {
    const file = '\ufefftitle;team;hours;code\r\n"Bed; big";a;1,5;\r\n'
    expect((await send('import', file)).body).toMatchObject({
      errors: [{ row: 2, path: 'hours', code: 'type' }],
    })
    const right =
      '\ufefftitle;team;hours;code\r\n"Bed; ""big""";a;1.5;\r\n\r\n"two\r\nlines";b;;K-1\r\n'
    expect(await send('import', right)).toEqual({ status: 200, body: { rows: 2, errors: [] } })
    expect(await tickets().list({ orderBy: ['id'] })).toMatchObject([
      { title: 'Bed; "big"', team: 'a', hours: '1.50', code: null },
      { title: 'two\r\nlines', team: 'b', hours: '0.00', code: 'K-1' },
    ])
    const wide = Buffer.from('\ufefftitle,team\nStühle,a\n', 'utf16le')
    expect((await send('import', wide)).body).toEqual({ rows: 1, errors: [] })
  })

  it('reports all errors with row and column, as the client’s, and writes nothing', async () => {
    const project = await database.records(Project).create({ name: 'Roof' })
    const file = `title,team,hours,projectId\nLamp,a,1,${project.id}\nx,a,-1,${project.id}\nSofa,a,1,99999\nRug,a,1,,,\n`
    const errors = [
      { row: 3, path: 'title', code: 'minLength' },
      { row: 3, path: 'hours', code: 'min' },
      {
        row: 4,
        path: 'projectId',
        code: 'reference',
        message: 'projectId names no Project: 99999 does not exist',
      },
      { row: 5, path: '', code: 'cellCount' },
    ]
    const imported = await send('import', file)
    expect(imported).toMatchObject({ status: 400, body: { code: 'VALIDATION', errors } })
    expect(imported.body.error).toBe(
      'The file has errors. Nothing was written. Row 3: title must have at least 2 characters',
    )
    expect(await send('check', file)).toMatchObject({ status: 200, body: { rows: 4, errors } })
    expect(await tickets().count()).toBe(0)
  })

  it('names the column that was perhaps meant', async () => {
    const { body } = await send('import', 'titel,team,foo\nLamp,a,1\n')
    expect(body.errors).toEqual([
      {
        ...{ row: 1, path: 'titel', code: 'unknownColumn', suggestion: 'title' },
        message: 'There is no field "titel" in Ticket. Did you mean "title"?',
      },
      {
        ...{ row: 1, path: 'foo', code: 'unknownColumn' },
        message: expect.stringMatching(/^There is no field "foo" in Ticket\. Fields: id, title, /),
      },
    ])
    const hidden = await send('import', 'secret,title,team\nx,Lamp,a\n')
    expect(hidden.body.errors).toMatchObject([{ path: 'secret', code: 'unknownColumn' }])
  })

  it('of a caller is subject to its rights', async () => {
    const other = await tickets().create({ title: 'Other', team: 'b' })
    const own = await tickets().create({ title: 'Own', team: 'a' })
    expect((await send('import', 'title,team\nLamp,b\n', editor)).body.errors).toMatchObject([
      { row: 2, path: '' },
    ])
    expect(
      (await send('import', `id,title\n${other.id},Mine\n`, editor)).body.errors,
    ).toMatchObject([{ row: 2, path: 'id', code: 'noSuchRow' }])
    expect(
      (await send('import', 'title,team,salary\nLamp,a,9\n', editor)).body.errors,
    ).toMatchObject([{ row: 1, path: 'salary', code: 'unknownColumn' }])
    expect((await send('import', `id,owner\n${own.id},ed\n`, editor)).status).toBe(403)
    const none = await app.get(Auth).getToken({ sub: 'x', team: 'a' })
    expect((await send('import', 'title,team\nLamp,a\n', none)).status).toBe(403)
    expect(await send('import', `id,version,title\n${own.id},1,Own 2\n`, editor)).toMatchObject({
      status: 200,
    })
    expect(
      (await send('import', `id,version,title\n${own.id},1,Own 3\n`, editor)).body,
    ).toMatchObject({
      errors: [{ row: 2, code: 'version' }],
    })
    expect(await tickets().list({ orderBy: ['id'] })).toMatchObject([
      { title: 'Other', secret: 'x' },
      { title: 'Own 2' },
    ])
  })

  it('of the program is subject to no rights, but to the columns that it names', async () => {
    expect(await send('trusted', 'title,team,owner\nLamp,b,ed\n', editor)).toMatchObject({
      status: 200,
    })
    const [lamp] = await tickets().list()
    expect(lamp).toMatchObject({ team: 'b', owner: 'ed' })
    expect(
      await send('trusted', `id,title\n${lamp?.id},Lamps\n${Number(lamp?.id) + 1},No\n`),
    ).toMatchObject({ status: 400, body: { errors: [{ row: 3, path: 'id', code: 'noSuchRow' }] } })
    const odd = await send('trusted', 'title,team,salary\nLamp,b,9\n')
    expect(odd.body.errors).toMatchObject([{ path: 'salary', code: 'unknownColumn' }])
    for (const check of [true, false]) {
      const importing = importRows(
        tickets(),
        'title,team,labelIds,projectId\nx,a,77,\nBed,a,,77\n',
        {
          check,
        },
      )
      const { errors } = await importing.catch((error: unknown) => error as HttpError)
      expect(errors).toMatchObject([
        { row: 2, path: 'title' },
        { row: 3, path: 'projectId', code: 'reference' },
      ])
    }
    expect(await tickets().count()).toBe(1)
  })

  it('has errors of the client also where a hook has set the value', async () => {
    expect(await send('hooked', 'name,size\nright,1\nwrong,1\n')).toMatchObject({
      status: 400,
      body: { errors: [{ row: 3, path: 'size', code: 'min' }] },
    })
  })

  it('is exported as it can be imported', async () => {
    const label = await database.records(Label).create({ name: 'red' })
    const file = `title,team,labelIds\n=1+1,a,${label.id}\n"a,b",b,\n`
    expect((await send('import', file)).status).toBe(200)
    const get = async (query: string, token: string) =>
      (
        await fetch(`${app.url}/tickets/export${query}`, {
          headers: { authorization: `Bearer ${token}` },
        })
      ).text()
    const all = await get('', admin)
    expect(all).toMatch(
      /^id,title,team,hours,projectId,code,owner,salary,views,version,labelIds\r\n/,
    )
    expect(all).toContain(`,'=1+1,a,0.00,,,,,0,1,${label.id}\r\n`)
    const own = await get('', editor)
    expect(own).not.toMatch(/salary|a,b/)
    expect(await get('?team=b&orderBy=-id', admin)).toContain('"a,b"')
    expect(await send('import', all)).toMatchObject({ status: 200, body: { rows: 2 } })
    const lines: string[] = []
    for await (const line of await exportRows(tickets(), { columns: ['title', 'labelIds'] }))
      lines.push(line)
    expect(lines.join('')).toBe(`title,labelIds\r\n'=1+1,${label.id}\r\n"a,b",\r\n`)
  })

  it('may come as a stream, which leaves nothing behind when it breaks', async () => {
    const rows = function* (count: number) {
      yield 'title,team\n'
      for (let row = 0; row < count; row++) yield `Ticket ${row},a\n`
    }
    const progress: number[] = []
    const options = { onProgress: ({ rows }: { rows: number }) => progress.push(rows) }
    expect(await importRows(tickets(), Readable.from(rows(120)), options)).toEqual({
      rows: 120,
      errors: [],
    })
    expect(progress).toEqual([50, 100, 120])
    const broken = Readable.from(
      (function* () {
        yield* rows(120)
        throw new Error('the connection broke')
      })(),
    )
    await expect(importRows(tickets(), broken)).rejects.toThrow('the connection broke')
    const stopping = importRows(tickets(), Readable.from(rows(120)), {
      onProgress: () => {
        throw new Error('enough')
      },
    })
    await expect(stopping).rejects.toThrow('enough')
    expect(await tickets().count()).toBe(120)
    const outer = database.transaction(async () => {
      await importRows(tickets(), Readable.from(rows(10)))
      throw new Error('later')
    })
    await expect(outer).rejects.toThrow('later')
    expect(await tickets().count()).toBe(120)
  })

  it('ends after maxErrors, and refuses more rows than maxRows', async () => {
    const file = `title,team\n${'x,a\n'.repeat(200)}`
    const checked = await importRows(tickets(), file, { check: true, maxErrors: 3 })
    expect(checked.errors.map(({ row }) => row)).toEqual([2, 3, 4])
    const many = importRows(tickets(), 'title,team\nBed,a\nBed,a\n', { maxRows: 1 })
    await expect(many).rejects.toMatchObject({
      code: 'VALIDATION',
      errors: [{ row: 3, code: 'tooManyRows' }],
    })
    expect(await tickets().count()).toBe(0)
  })

  it('takes only records and files', async () => {
    await expect(importRows({} as never, 'a\n')).rejects.toThrow(
      'importRows: takes the records of a caller, recordsAs(…), or of the program, database.records(…).',
    )
    await expect(importRows(tickets(), 7 as never)).rejects.toThrow('importRows: takes a text')
  })
})

it('of 100,000 rows is checked in bounded memory', async () => {
  const database = await connect('sqlite::memory:', { records: [Label] })
  await database.sync()
  const rows = function* () {
    yield 'name\n'
    for (let row = 0; row < 100_000; row++) yield `${row} ${'x'.repeat(400)}\n`
  }
  let highest = 0
  const before = process.memoryUsage().heapUsed
  const onProgress = ({ rows: read }: { rows: number }) => {
    if (read % 5000 === 0) highest = Math.max(highest, process.memoryUsage().heapUsed)
  }
  const result = await importRows(database.records(Label), Readable.from(rows()), {
    ...{ check: true, onProgress },
  })
  expect(result).toEqual({ rows: 100_000, errors: [] })
  // The file has 41 MB.
  expect(highest - before).toBeLessThan(150_000_000)
  await database.close()
}, 120_000)
