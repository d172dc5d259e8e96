/** `filigree pull`: what it writes for a database that another program made. Source: public API, 18. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
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
    const broken = engine === 'SQLite' ? [] : ['Broken: error: division by zero']
    expect(checked.brokenViews).toEqual(broken)
    expect(checked.creations.filter(({ outcome }) => outcome !== 'created')).toEqual([])
    expect(checked.creations.length).toBeGreaterThan(4)
  })

  it('names what it leaves out', () => {
    const leftOut = checked.report.leftOut.map(({ where, message }) => `${where} ${message}`)
    expect(leftOut).toContain('strange table has a name that no record can have')
    expect(leftOut).toContain(
      'products.Net-Weight (g) has a name that no field can have, and is left out',
    )
    if (engine === 'SQLite') expect(leftOut).toContain('words is a virtual table')
  })

  it('reads checks as rules, and leaves the others to the database', async () => {
    const customer = await source('customer')
    expect(customer).toContain("oneOf: ['A', 'B']")
    expect(customer).toContain("@Field('integer', { min: 1, max: 5, default: 1 }) level")
    expect(customer).toContain('{ minLength: 1, maxLength: 60')
    if (engine === 'SQLite')
      expect(customer).toMatch(
        /\n {2}@Field\('string', \{ optional: true, nullable: true \}\) nick/,
      )
    expect(checked.report.remarks.filter(({ message }) => message.includes('check'))).toEqual([])
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

describe('the records of a database of PostgreSQL', () => {
  let sources: ReadonlyMap<string, string>

  beforeAll(async () => {
    const url = await server.createDatabase()
    const database = await connect(url)
    await runSql(database, postgresShop)
    await database.close()
    const folder = await mkdtemp(join(tmpdir(), 'filigree-'))
    await runIn(folder, ['pull', url, '--out', '.', '--schema', 'public,billing'])
    const names = await readdir(folder)
    sources = new Map(
      await Promise.all(
        names.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const),
      ),
    )
    await rm(folder, { recursive: true })
  })

  it.each([
    "@Field('integer', { min: 1900, max: 2200, type: 'year', optional: true, nullable: true })",
    "@Field('string', { list: true, type: 'text[]', default: () => [] }) tags!: Generated<string[]>",
    "@Field('string', { type: 'tsrange', optional: true, nullable: true }) valid?: string | null",
    "@Field('string', { type: 'inet', optional: true, nullable: true }) address?: string | null",
    "@Field('datetime', { type: 'timestamp', default: 'now' }) seen!: Generated<string>",
    "@Field('integer', { generated: true }) number!: Generated<number>",
    "@Field('decimal', { precision: 8, scale: 2, min: '0.01', index: true }) price!: ExactNumber",
    "@Field('id', { key: 'uuid' }) productId!: string",
    "@Field('integer') categoryId!: number",
    "@Field('string', { optional: true, nullable: true }) class?: string | null",
    '@BelongsTo(() => ProductCategory) category!: Rel<ProductCategory>',
    '@BelongsTo(() => ProductCategory) secondCategory!: Rel<ProductCategory | null>',
    "indexes: [{ fields: ['categoryId', 'name'], unique: true }],",
    '- Net-Weight (g) has a name that no field can have, and is left out.',
    "@Field('string', { optional: true, nullable: true, column: 'strange name' })",
    'strangeName?: string | null',
    "@Field('string', { maxLength: 9, default: '0', nullable: true, column: 'zip-Code' })",
  ])('have %s', (line) => {
    expect(sources.get('product.ts')).toContain(line)
  })

  it('have the types, defaults and comments of columns', () => {
    const customer = sources.get('customer.ts')
    expect(customer).toContain(' * People who buy. * / "Quoted"')
    expect(customer).toContain('/** Their birthday, if they told us. */')
    expect(customer).toContain("pattern: '^[^@]+@[^@]+$',\n    maxLength: 99,\n    type: 'email'")
    expect(customer).toContain("@Field('json', { default: () => ({}) }) settings?: unknown")
    expect(customer).toContain("@Field('uuid', { default: () => randomUUID() }) token!:")
    expect(customer).toContain("@Field('time', { default: '08:30:00' }) opens!: Generated<string>")
    expect(customer).toContain('- rating has numbers without declared digits')
  })

  it('have the rules of checks', () => {
    const customer = sources.get('customer.ts')
    expect(customer).toContain(
      "@Field('string', { minLength: 1, maxLength: 60, column: 'fullName' })",
    )
    expect(customer).toContain("precision: 10, scale: 2, min: '0', default: '0'")
    expect(customer).toContain("{ oneOf: ['A', 'B'], maxLength: 1, optional: true")
    expect(customer).toContain("@Field('integer', { min: 1, max: 5, default: 1 }) level")
    expect(customer).not.toContain('1800')
  })

  it('have relations of a table to itself, and two relations to one table', () => {
    const category = sources.get('product-category.ts')
    expect(category).toContain("column: 'parent'")
    expect(category).toContain("@BelongsTo(() => ProductCategory, { onDelete: 'setNull' })")
    expect(category).toContain('children!: Rel<ProductCategory[]>')
    expect(category).toContain("@HasMany(() => Product, { by: 'categoryId' })")
    expect(category).toContain("@HasMany(() => Product, { by: 'secondCategoryId' })")
    expect(category).toContain('productsBySecondCategory!: Rel<Product[]>')
  })

  it.each([
    [
      'order-line.ts',
      "@Record({ table: 'order_lines', key: ['orderId', 'shop', 'line'], managed: false })",
    ],
    [
      'order-line.ts',
      "@BelongsTo(() => OrderRow, { by: ['shop', 'orderId'], onDelete: 'cascade' })",
    ],
    ['country.ts', "@Record({ table: 'countries', key: ['code'], managed: false })"],
    [
      'product.ts',
      "@Field('string', { maxLength: 2, optional: true, nullable: true, column: 'country' })",
    ],
    ['product.ts', "@BelongsTo(() => Country, { by: ['countryCode'], onDelete: 'cascade' })"],
    ['customer-detail.ts', "key: ['customerId']"],
    ['measurement.ts', "key: ['id', 'at']"],
    ['measurement-note.ts', "key: ['id', 'measurementId']"],
    ['visit.ts', "key: ['country', 'id']"],
    ['click.ts', "@Record({ table: 'clicks', key: false, managed: false })"],
    ['login.ts', "@Record({ table: 'logins', key: false, managed: false })"],
    ['active-customer.ts', '/** A view. */'],
    ['sale.ts', '/** A materialized view. */'],
  ])('have the keys of their tables: %s has %s', (file, line) => {
    expect(sources.get(file)).toContain(line)
  })

  it('have one record for a partitioned table, and none for its partitions', () => {
    const files = [...sources.keys()].filter((name) => /^(measurement|visit|click)/.test(name))
    expect(files.sort()).toEqual(['click.ts', 'measurement-note.ts', 'measurement.ts', 'visit.ts'])
    expect(sources.get('measurement-note.ts')).toContain('@BelongsTo(() => Measurement')
    expect(sources.get('measurement.ts')).toContain('measurementNotes!: Rel<MeasurementNote[]>')
  })

  it('have the schemas of their tables', () => {
    expect(sources.get('billing-order.ts')).toContain(
      "@Record({ table: 'orders', schema: 'billing', managed: false })",
    )
  })

  it('have the style of Prettier', async () => {
    const { format } = await import('prettier')
    const style = { semi: false, singleQuote: true, printWidth: 100, parser: 'typescript' }
    for (const [name, text] of sources)
      expect([name, await format(text, style)]).toEqual([name, text])
  })
})

it('names a materialized view that was never refreshed', async () => {
  const url = await server.createDatabase()
  const database = await connect(url)
  await runSql(database, 'create materialized view sales as select 1 as total with no data')
  await database.close()
  const folder = await mkdtemp(join(tmpdir(), 'filigree-'))
  const { out } = await runIn(folder, ['pull', url])
  expect(out).toContain('sales cannot be read before refresh materialized view sales.')
  await rm(folder, { recursive: true })
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
