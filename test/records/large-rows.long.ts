/** Rows of many bytes: lists of clients have a budget in bytes. */
import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { checkCost } from '../../src/records/budget/check-cost.js'
import { frameworkQuery } from '../../src/engines/contract/statement.js'
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  bootstrap,
  Controller,
  Database,
  Field,
  Get,
  HasMany,
  Module,
  Record,
  recordsAs,
  type Application,
  type HttpRequest,
  type Rel,
} from 'filigree'
import { internalsOf } from './open-database.js'
import { startPostgres } from './postgres-server.js'

@Record
class Folder {
  @Field('id') id!: number
  @Field('string', { maxLength: 100 }) name!: string
  @HasMany(() => Scan) scans!: Rel<Scan[]>
}

@Record
class Scan {
  @Field('id') id!: number
  @Field('string', { maxLength: 100 }) name!: string
  @Field('text') content!: string
  @Field('integer', { nullable: true, optional: true }) folderId?: number | null
  @BelongsTo(() => Folder) folder!: Rel<Folder>
}

@Controller('/scans', { crud: Scan })
class ScanController {}
@Controller('/folders', { crud: Folder })
class FolderController {}

@Controller('/exported')
class ExportController {
  static inject = [Database]
  constructor(private readonly database: Database) {}

  @Get('/', { args: ['request'] })
  async pages(request: HttpRequest): Promise<number[]> {
    const pages: number[] = []
    for await (const rows of recordsAs(this.database, Scan, request).all({}))
      pages.push(rows.length)
    return pages
  }

  @Get('/own')
  async own(): Promise<number> {
    return (await this.database.records(Scan).list({ limit: 1000 })).length
  }
}

const server = await startPostgres()
afterAll(() => server.close())
const directory = await mkdtemp(join(tmpdir(), 'filigree-large-'))
afterAll(() => rm(directory, { recursive: true }))
let files = 0

const rowCount = 40
/** Twice what the client may read. */
const rowBytes = 100_000
const limits = { rows: '2mb' }
/** Text that PostgreSQL cannot compress. */
function contentOf(index: number): string {
  const outputLength = (rowBytes * 3) / 4
  return createHash('shake256', { outputLength }).update(String(index)).digest('base64')
}

describe.each([
  ['SQLite', () => Promise.resolve(`sqlite:${join(directory, `${++files}.db`)}`)],
  ['SQLite in memory', () => Promise.resolve('sqlite::memory:')],
  ['PostgreSQL', () => server.createDatabase()],
])('large rows on %s', (engineName, open) => {
  let app: Application
  beforeEach(async () => {
    @Module({
      controllers: [ScanController, FolderController, ExportController],
      records: [Scan, Folder],
    })
    class ScanModule {}
    app = await bootstrap(ScanModule, {
      ...{ listen: false, logger: false, env: {}, limits },
      database: await open(),
    })
    const database = app.get(Database)
    const folder = await database.records(Folder).create({ name: 'all' })
    const rows = Array.from({ length: rowCount }, (_, index) => ({
      name: `Scan ${index}`,
      content: contentOf(index),
      folderId: folder.id,
    }))
    await database.records(Scan).insertMany(rows)
  })
  afterEach(() => app.close())

  const get = async (url: string): Promise<[number, unknown]> => {
    const { status, body } = await app.inject({ url })
    const { errors = [] } = JSON.parse(body) as { errors?: { code: string }[] }
    return [status, errors[0]?.code]
  }
  const query = async (text: string): Promise<string> => {
    const { body } = await app.inject({ method: 'POST', url: '/graphql', json: { query: text } })
    return body
  }

  it.each([
    ['of a list', '/scans?limit=1000'],
    [
      'of a list with a filter and an order',
      '/scans?limit=1000&content.like=%25a%25&orderBy=-name',
    ],
    ['of related rows', '/folders?with=scans'],
    ['of related rows of one row', '/folders/1?with=scans'],
  ])('are 400 if there are too many bytes: %s', async (_name, url) => {
    expect(await get(url)).toEqual([400, 'TOO_COSTLY'])
  })

  it('are listed while they have few enough bytes', async () => {
    const { status, body } = await app.inject({ url: '/scans?limit=15' })
    expect([status, (JSON.parse(body) as object[]).length]).toEqual([200, 15])
    expect(await get('/scans/7')).toEqual([200, undefined])
  })

  it.each([
    ['a list', '{ scans(limit: 100) { content } }'],
    ['a page', '{ scansPage(first: 100) { edges { node { content } } } }'],
    ['a nested list', '{ folders { scans(limit: 100) { content } } }'],
  ])('are an error of GraphQL if %s has too many bytes', async (_name, text) => {
    const body = await query(text)
    expect(JSON.parse(body)).toMatchObject({ errors: [{ extensions: { code: 'TOO_COSTLY' } }] })
  })

  it('do not count in GraphQL if their large values are not selected', async () => {
    const body = await query('{ scans(limit: 100) { name } }')
    expect((JSON.parse(body) as { data: { scans: object[] } }).data.scans).toHaveLength(rowCount)
  })

  it('are exported in pages that have few enough bytes', async () => {
    const { body } = await app.inject({ url: '/exported' })
    const pages = JSON.parse(body) as number[]
    expect(pages.reduce((sum, rows) => sum + rows, 0)).toBe(rowCount)
    expect(Math.max(...pages)).toBeLessThan(rowCount)
  })

  it('cost more points than small rows, by the sizes of a sample', async () => {
    const database = app.get(Database)
    if (engineName === 'PostgreSQL') await sql`vacuum analyze scan`.execute(database.kysely)
    await internalsOf(database).sizes.read()
    const { sizes } = internalsOf(database)
    expect(sizes.bytesOf('scan')).toBeGreaterThan(0.5 * rowBytes)
    expect(sizes.bytesOf('scan')).toBeLessThan(2 * rowBytes)
    const table = internalsOf(database).table(Scan)
    const list = { where: {}, orderBy: [] }
    const check = (limit: number) => () => {
      checkCost(table, { ...list, limit }, sizes, 300)
    }
    expect(check(10)).not.toThrow()
    // The limit is higher than the number of rows.
    expect(check(200)).toThrow('costs more than 300')
    expect(check(30)).toThrow('costs more than 300')
  })

  it('end a read of the engine before all of them are in memory', async () => {
    const { engine } = internalsOf(app.get(Database)).context
    const request = { maxReadBytes: 2_000_000, onFinished: () => undefined }
    const reads = engine.requests.reads?.(request)
    // A database in memory has no other connections to read from.
    if (reads === undefined) {
      expect(engineName).toBe('SQLite in memory')
      return
    }
    const read = frameworkQuery('select name, content from scan')
    await expect(reads.run(read, [], 'rows')).rejects.toMatchObject({ kind: 'tooLarge' })
    const few = frameworkQuery('select name, content from scan limit 5')
    expect(await reads.run(few, [], 'rows')).toHaveLength(5)
  })

  it('are not limited for the program', async () => {
    expect((await app.inject({ url: '/exported/own' })).body).toBe(String(rowCount))
  })
})
