/** Advice about queries that read entire tables, for conditions on related records. */
import { expect, it } from '@jest/globals'
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

it('names the route, the condition and the missing index', async () => {
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
    .insertMany(Array.from({ length: 2000 }, (_, id) => ({ name: `Lamp ${id}` })))
  await database.records(Shade).create({ note: 'x', code: 'x', lampId: 7 })
  // The first request uses the index of `code`, so it gets no advice.
  for (const url of ['/lamps?shades.code=x&count=none', '/lamps?shades.note=x&count=none'])
    expect((await app.inject({ url })).status).toBe(200)
  let advice: unknown[][] = []
  while (advice.length === 0) {
    await new Promise((resolve) => setImmediate(resolve))
    const existsQuery = `select count(*) from sqlite_schema where name = 'filigree_scans'`
    const [[exists] = []] = await readSql(database, existsQuery)
    advice = exists === 1 ? await readSql(database, 'select advice from filigree_scans') : []
  }
  expect(advice).toEqual([
    [
      expect.stringMatching(
        /^Lamp: every row is read for GET \/lamps, where \(exists \(select 1 from shade .*note = \?.*\. With an index of the related field/,
      ),
    ],
  ])
  await app.close()
})
