/** `filigree pull`: what it writes for a database that another program made. Source: public API, 18. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { connect } from '../../../src/index.js'
import { startPostgres } from '../../records/postgres-server.js'
import { runSql } from '../../records/run-sql.js'
import { runIn } from '../run-in.js'
import { checkPulled, type CheckedPull } from './check-pulled.js'
import { postgresShop, sqliteShop } from './shop-schema.js'

const server = await startPostgres()
const files = await mkdtemp(join(tmpdir(), 'filigree-shop-'))
afterAll(async () => {
  await server.close()
  await rm(files, { recursive: true })
})

const engines = [
  ['PostgreSQL', () => server.createDatabase(), postgresShop],
  ['SQLite', () => Promise.resolve(`sqlite:${join(files, 'shop.db')}`), sqliteShop],
] as const

describe.each(engines)('filigree pull of a database of %s', (engine, open, schema) => {
  let checked: CheckedPull
  const source = (name: string): Promise<string> =>
    readFile(join(checked.folder, 'src/records', `${name}.ts`), 'utf8')

  beforeAll(async () => {
    const url = await open()
    const database = await connect(url)
    await runSql(database, schema)
    await database.close()
    const args = engine === 'PostgreSQL' ? ['--schema', 'public,billing'] : []
    checked = await checkPulled(url, { args, schemas: ['public', 'billing'], keeps: true })
  })
  afterAll(() => rm(checked.folder, { recursive: true }))

  it('compiles under strict', () => {
    expect(checked.typeErrors).toBe('')
  })

  it('starts in production, and migrate make finds nothing', () => {
    expect(checked.startErrors).toEqual([])
    expect(checked.migrations).toEqual([])
  })

  it('writes nothing in a second run, and changes nothing in the database', () => {
    expect(checked.second).toMatchObject({ written: [], differences: [] })
    expect(checked.isUnchanged).toBe(true)
  })

  it('lists, queries and creates rows of every record', () => {
    expect(checked.listErrors).toEqual([])
    expect(checked.queryErrors).toEqual([])
    expect(checked.creations.filter(({ outcome }) => outcome !== 'created')).toEqual([])
    expect(checked.creations.length).toBeGreaterThan(4)
  })

  it('names what it leaves out', () => {
    const leftOut = checked.report.leftOut.map(({ where, message }) => `${where} ${message}`)
    expect(leftOut).toContain('strange table has a name that no record can have')
    expect(leftOut).toContain(
      'products.strange name has a name that no field can have, and is left out',
    )
    if (engine === 'SQLite') expect(leftOut).toContain('words is a virtual table')
  })

  it('writes index.ts with all records', async () => {
    const index = await source('index')
    expect(index).toContain("import { Customer } from './customer.js'")
    expect(index).toMatch(/^export const records = \[\s*(?:\w+,\s*)*Customer,/m)
  })

  it('names classes and members of reserved words and of conflicts', async () => {
    expect(await source('record-row')).toContain('export class RecordRow {')
    // GraphQL has a type ProductGroup for groups of products.
    expect(await source('product-group-row')).toContain('export class ProductGroupRow {')
  })
})

it('opens a file by its path, and says if there is none', async () => {
  const file = join(files, 'plain.db')
  const database = await connect(`sqlite:${file}`)
  await runSql(database, 'create table lamp (id integer primary key)')
  await database.close()
  const folder = await mkdtemp(join(tmpdir(), 'filigree-'))
  expect(await runIn(folder, ['pull', file])).toMatchObject({
    code: 0,
    out: `sqlite:${file}: 1 table, 1 column.\nWritten to src/records: 2 files.\n`,
  })
  expect(await runIn(folder, ['pull', 'missing.db'])).toMatchObject({
    code: 2,
    err: expect.stringContaining('there is no file missing.db.'),
  })
  await rm(folder, { recursive: true })
})
