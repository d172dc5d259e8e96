/** Advice about queries that read entire tables: conditions on related records, and declared indexes. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { expect, it } from '@jest/globals'
import { sql } from 'kysely'
import {
  BelongsTo,
  bootstrap,
  Controller,
  Database,
  Field,
  HasMany,
  Module,
  NoAuth,
  Record,
  type Rel,
} from 'filigree'
import { readSql } from './run-sql.js'

@Record
@NoAuth
class Lamp {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('string', { index: true }) code!: string
  @HasMany(() => Shade) shades!: Rel<Shade[]>
}

@Record
@NoAuth
class Shade {
  @Field('id') id!: number
  @Field('string') note!: string
  @Field('string', { index: true }) code!: string
  @Field('integer') lampId!: number
  @BelongsTo(() => Lamp) lamp!: Rel<Lamp>
}

@Controller('/lamps', { crud: Lamp })
@NoAuth
class Lamps {}

@Module({ controllers: [Lamps], records: [Lamp, Shade] })
class Shop {}

/** @returns the advice on the requests, once the application has stored some */
async function adviceOn(
  urls: readonly string[],
  prepare: (database: Database) => Promise<unknown>,
): Promise<unknown[][]> {
  const env = { NODE_ENV: 'development', APP_API_KEY: 'key' }
  const app = await bootstrap(Shop, {
    database: 'sqlite::memory:',
    listen: false,
    logger: false,
    env,
  })
  const database = app.get(Database)
  await database
    .records(Lamp)
    .insertMany(Array.from({ length: 2000 }, (_, id) => ({ name: `Lamp ${id}`, code: 'x' })))
  await prepare(database)
  for (const url of urls) expect((await app.inject({ url })).status).toBe(200)
  let advice: unknown[][] = []
  while (advice.length === 0) {
    await new Promise((resolve) => setImmediate(resolve))
    const existsQuery = `select count(*) from sqlite_schema where name = 'filigree_scans'`
    const [[exists] = []] = await readSql(database, existsQuery)
    advice = exists === 1 ? await readSql(database, 'select advice from filigree_scans') : []
  }
  await app.close()
  return advice
}

it('names the route, the condition and the missing index', async () => {
  // The first request uses the index of `code`, so it gets no advice.
  const urls = ['/lamps?shades.code=x&count=none', '/lamps?shades.note=x&count=none']
  const advice = await adviceOn(urls, (database) =>
    database.records(Shade).create({ note: 'x', code: 'x', lampId: 7 }),
  )
  expect(advice).toEqual([
    [
      expect.stringMatching(
        /^Lamp: every row is read for GET \/lamps, where \(exists \(select 1 from shade .*note = \?.*\. With an index of the related field/,
      ),
    ],
  ])
})

it('does not examine how the database runs its own examinations', async () => {
  const statements: string[] = []
  const listen = (message: unknown): void => {
    statements.push((message as { sql: string }).sql)
  }
  subscribe('filigree:statement', listen)
  await adviceOn(['/lamps?shades.note=x&count=none'], () => Promise.resolve())
  unsubscribe('filigree:statement', listen)
  const plans = statements.filter((text) => text.startsWith('explain query plan'))
  expect(plans.length).toBeGreaterThan(0)
  expect(plans.filter((text) => text.includes('plan explain'))).toEqual([])
})

it('names the declared index that the database does not use', async () => {
  const advice = await adviceOn(['/lamps?code=x&count=none'], (database) =>
    sql`drop index lamp_code_index`.execute(database.kysely),
  )
  expect(advice).toEqual([
    [
      expect.stringMatching(
        /^Lamp: a list where code\. The index lamp_code_index serves it\. The database does not use/,
      ),
    ],
  ])
})
