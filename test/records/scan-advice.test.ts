/** Advice about queries that read whole tables, for conditions that no field of the record can lead to. */
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

it('names the route and the condition, and says what helps', async () => {
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
  // It begins at the index of `code`: nothing is said of it.
  for (const url of ['/lamps?shades.code=x&count=none', '/lamps?shades.note=x&count=none'])
    expect((await app.inject({ url })).status).toBe(200)
  let advice: unknown[][] = []
  while (advice.length === 0) {
    await new Promise((resolve) => setImmediate(resolve))
    const made = `select count(*) from sqlite_schema where name = 'filigree_scans'`
    const [[isMade] = []] = await readSql(database, made)
    advice = isMade === 1 ? await readSql(database, 'select advice from filigree_scans') : []
  }
  expect(advice).toEqual([
    [
      expect.stringMatching(
        /^Lamp: every row is read for GET \/lamps, where \(exists \(select 1 from shade .*note = \?.*\. An index of the related field/,
      ),
    ],
  ])
  await app.close()
})
