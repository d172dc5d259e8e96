import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { connect, type Database } from '../../src/index.js'
import { root } from '../openapi/command.js'
import { startPostgres } from '../records/postgres-server.js'
import { readSql, runSql } from '../records/run-sql.js'
import { Box, Part, Tag } from './copied-shop.js'
import { runIn, type Outcome } from './run-in.js'

const folder = await mkdtemp(join(tmpdir(), 'filigree-copy-'))
const server = await startPostgres()
const opened: Database[] = []

afterAll(async () => {
  await Promise.all(opened.map((database) => database.close()))
  await server.close()
  await rm(folder, { recursive: true, force: true })
})

const records = [Part, Tag, Box]
const shop = join(root, 'test/cli/copied-shop.ts')
const copy = (...args: string[]): Promise<Outcome> =>
  runIn(folder, ['copy', ...args, '--module', shop])

let files = 0
/** @returns the address of a new database with the tables of the shop */
async function createTarget(engine: 'sqlite' | 'postgres'): Promise<string> {
  const url =
    engine === 'sqlite' ? `sqlite:${join(folder, `${++files}.db`)}` : await server.createDatabase()
  const database = await connect(url, { records })
  await database.sync()
  await database.close()
  return url
}

async function open(url: string): Promise<Database> {
  const database = await connect(url, { records })
  opened.push(database)
  return database
}

/** Fills a database with values at the edges of each kind. */
async function fill(url: string): Promise<void> {
  const database = await open(url)
  await database.records(Tag).insertMany([{ name: 'a' }, { name: 'ä €\t\\\n"' }])
  const parts = database.records(Part)
  const first = await parts.create({
    name: 'x\\y\n\tz\r, "quoted" €𝒳',
    isLarge: true,
    price: '15.50',
    weight: '-123456789012345.678',
    mass: '-123456789012345678901234.567891',
    code: '9223372036854775807',
    ratio: 0.1 + 0.2,
    at: '2026-11-20T10:00:00.123Z',
    day: '2026-11-20',
    hour: '10:30:00',
    data: { list: [1, 2.5, 'x'], text: 'a\\b' },
    image: Buffer.from([0, 1, 92, 255]),
    ref: '0190A0B4-1111-7222-8333-444455556666',
    secret: 'hidden',
    parentId: null,
    boxId: null,
  })
  const box = await database.records(Box).create({ mainPartId: first.id })
  await parts.insertMany(
    Array.from({ length: 1200 }, (_, index) => ({
      name: `part ${index}`,
      isLarge: index % 2 === 0,
      price: '-0.01',
      weight: '0.000',
      mass: '0.000001',
      code: '-9223372036854775808',
      ratio: [1e21, -1e-7, 5e-324, 1.7976931348623157e308][index % 4] ?? 0,
      at: null,
      day: null,
      hour: null,
      data: null,
      image: null,
      ref: null,
      secret: null,
      parentId: first.id,
      boxId: box.id,
    })),
  )
  await parts.update(first.id, { parentId: first.id + 5, boxId: box.id })
  await parts.delete(first.id + 7)
  await runSql(
    database,
    `insert into part_tag (part_id, tag_id) select 1, id from tag where name = 'a';
create table filigree_session (hash text primary key not null, data text not null, expires_at bigint not null);
create index filigree_session_expires_at on filigree_session (expires_at);
insert into filigree_session values ('abc', '{"a":1}', 1893456000000);`,
  )
}

describe.each(['sqlite', 'postgres'] as const)('filigree copy from %s', (engine) => {
  const other = engine === 'sqlite' ? 'postgres' : 'sqlite'

  it('copies all rows to the other engine and back', async () => {
    const [source, target, again] = [
      await createTarget(engine),
      await createTarget(other),
      await createTarget(engine),
    ]
    await fill(source)
    const copied = await copy(source, target)
    expect(copied).toMatchObject({ code: 0, err: '' })
    expect(copied.out).toMatch(/^part +1201 rows +[0-9a-f]{16}\n/m)
    expect(copied.out).toMatch(
      /\n5 tables with 1,206 rows copied and compared in .*: the databases are equal\.\n$/,
    )
    expect(await copy(target, again)).toMatchObject({ code: 0, err: '' })
    expect((await copy(source, again, '--verify')).out).toMatch(/ rows compared in /)
    const [one, last] = [await open(source), await open(again)]
    for (const table of ['part', 'tag', 'box', 'part_tag', 'filigree_session']) {
      const query = `select * from ${table} order by 1`
      expect(await readSql(last, query)).toEqual(await readSql(one, query))
    }
    const copy2 = await open(target)
    const options = { orderBy: ['id' as const], limit: 5 }
    expect(await copy2.records(Part).list(options)).toEqual(await one.records(Part).list(options))
    const created = await Promise.all(
      [one, copy2, last].map((database) =>
        database
          .records(Box)
          .create({ mainPartId: null })
          .then(({ id }) => id),
      ),
    )
    expect(new Set(created).size).toBe(1)
  })

  it('finds one changed cell with --verify', async () => {
    const [source, target] = [await createTarget(engine), await createTarget(other)]
    await fill(source)
    await copy(source, target)
    await runSql(await open(target), `update part set secret = 'x' where id = 1100;`)
    expect(await copy(source, target, '--verify')).toMatchObject({
      code: 1,
      err: 'Table part differs: it has 1201 rows in both databases, but other values.\n  row 1100, column secret\n',
    })
    const { out, code } = await copy(source, target, '--verify', '--json')
    expect(code).toBe(1)
    expect(JSON.parse(out)).toMatchObject({
      isEqual: false,
      tables: expect.arrayContaining([
        expect.objectContaining({
          name: 'part',
          isEqual: false,
          differences: [{ row: '1100', columns: ['secret'], side: 'both' }],
        }),
        expect.objectContaining({ name: 'tag', isEqual: true }),
      ]),
    })
    await runSql(await open(target), `delete from part where id = 1100;`)
    expect((await copy(source, target, '--verify')).err).toBe(
      'Table part differs: the source has 1201 rows, the target 1200.\n  row 1100 is only in the source\n',
    )
  })

  it('requires a target with the current schema and without rows', async () => {
    const [source, target] = [await createTarget(engine), await createTarget(other)]
    const empty =
      other === 'sqlite' ? `sqlite:${join(folder, 'empty.db')}` : await server.createDatabase()
    const refused = await copy(source, empty)
    expect(refused.code).toBe(1)
    expect(refused.err).toContain(
      'The target does not have the current schema: Table part is missing.',
    )
    expect(refused.err).toContain('Run filigree migrate up with the address of the target')
    await (await open(target)).records(Tag).create({ name: 'there' })
    const second = await copy(source, target)
    expect(second.code).toBe(1)
    expect(second.err).toContain('Table tag of the target has rows.')
  })
})

it('names the cell with a character that the target cannot store', async () => {
  const [source, target] = [await createTarget('sqlite'), await createTarget('postgres')]
  await fill(source)
  await runSql(await open(source), `update part set name = 'a' || char(0) || 'b' where id = 900;`)
  const { code, err } = await copy(source, target)
  expect(code).toBe(1)
  expect(err).toContain(
    'Table part, row 900, column name: the text contains the character NUL, which PostgreSQL cannot store.',
  )
})

it('names the cell with a value of another type', async () => {
  const [source, target] = [await createTarget('sqlite'), await createTarget('postgres')]
  await fill(source)
  await runSql(await open(source), `update part set code = 'abc' where id = 900;`)
  const { code, err } = await copy(source, target)
  expect(code).toBe(1)
  expect(err).toContain('Table part, row 900, column code: ')
})

it.each([
  [[], 'name the addresses of both databases'],
  [['sqlite:nowhere.db', 'postgres://localhost/x'], 'nowhere.db does not exist'],
  [['postgres://localhost/x', 'postgres://localhost/x'], 'the same database'],
  [['postgres://localhost/x', 'sqlite:x.db', '--verify', '--continue'], '--verify only compares'],
])('refuses %j', async (args, message) => {
  expect(await copy(...args)).toMatchObject({ code: 2, err: expect.stringContaining(message) })
})
