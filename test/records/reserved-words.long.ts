/** Fields may have any name that is a word of SQL, on every engine alike. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  bootstrap,
  Controller,
  Database,
  Field,
  HasMany,
  Module,
  NoAuth,
  Record as Table,
  type Application,
  type Rel,
} from '../../src/index.js'
import { startBothEngines } from './both-engines.js'

/** SQLite, SQL Keywords, and the reserved words of PostgreSQL, Appendix C. `and`, `or` and `not` are words of filters. */
const words =
  `abort action add after all alter always analyse analyze any array as asc asymmetric attach authorization
  autoincrement before begin between binary both by cascade case cast check collate collation column commit concurrently
  conflict constraint create cross current current_catalog current_date current_role current_schema current_time
  current_timestamp current_user database default deferrable deferred delete desc detach distinct do drop each else end
  escape except exclude exclusive exists explain fail false fetch filter first following for foreign freeze from full
  generated glob grant group groups having if ignore ilike immediate in index indexed initially inner insert instead
  intersect into is isnull join key last lateral leading left like limit localtime localtimestamp match materialized
  natural no nothing notnull null nulls of offset on only order others outer over overlaps partition placing plan
  pragma preceding primary query raise range recursive references regexp reindex release rename replace restrict
  returning right rollback row rows savepoint select session_user set similar some symmetric system_user table
  tablesample temp temporary then ties to trailing transaction trigger true unbounded union unique update user using
  vacuum values variadic verbose view virtual when where window with without`
    .split(/\s+/)
    .filter((word) => word !== '')

const parts = [words.slice(0, 60), words.slice(60, 120), words.slice(120)]

/** A record whose fields are words, and its children. */
function declare(names: readonly string[], number: number) {
  @NoAuth
  @Table({ table: `words_${number}`, plural: `list${number}` })
  class Words {
    @Field('id') id!: number
    @HasMany(() => Child) children!: Rel<Child[]>
  }
  @NoAuth
  @Table({ table: `children_${number}` })
  class Child {
    @Field('id') id!: number
    @Field('integer') ownerId!: number
    @BelongsTo(() => Words) owner!: Rel<Words>
  }
  for (const name of names) {
    const rules = { optional: true, nullable: true, index: true } as const
    ;(Field('integer', rules) as PropertyDecorator)(Words.prototype, name)
    ;(Field('integer', rules) as PropertyDecorator)(Child.prototype, name)
  }
  @Controller(`/words${number}`, { crud: Words })
  class WordController {}
  Object.defineProperty(Words, 'name', { value: `Words${number}` })
  Object.defineProperty(Child, 'name', { value: `Child${number}` })
  return { Words, Child, WordController, names, url: `/words${number}` }
}

const declared = parts.map(declare)

@Module({
  controllers: declared.map(({ WordController }) => WordController),
  records: declared.flatMap(({ Words, Child }) => [Words, Child]),
})
class WordModule {}

const engines = await startBothEngines()
type Row = { readonly [name: string]: number }
type Parent = { readonly children: readonly Row[] }

describe.each(engines)('fields named as words of SQL: %s', (_name, address) => {
  let app: Application
  let database: Database
  beforeAll(async () => {
    app = await bootstrap(WordModule, { port: 0, logger: false, database: await address() })
    database = app.get(Database)
    for (const { Words, Child, names } of declared) {
      const rows = [1, 2].map((value) => Object.fromEntries(names.map((name) => [name, value])))
      const created = await database.records(Words).createMany(rows)
      await database
        .records(Child)
        .insertMany(created.map(({ id }, index) => ({ ...rows[index], ownerId: id })))
    }
  })
  afterAll(() => app.close())

  describe.each(declared)('of $url', ({ Words, names, url }) => {
    const type: new () => object = Words
    const records = () => database.records(type as new () => Row)

    it('are filtered, ordered and counted', async () => {
      for (const name of names) {
        const rows = await records().list({
          where: { [name]: { gt: 0 } },
          orderBy: { [name]: 'desc' },
        })
        expect(rows.map((row) => row[name])).toEqual([2, 1])
        expect(await records().count({ [name]: 2 }, { distinct: [name] })).toBe(1)
      }
    })

    it('are aggregated and grouped', async () => {
      for (const name of names) {
        const [all] = await records().aggregate({ sum: [name], max: [name] })
        const suffix = `${name.charAt(0).toUpperCase()}${name.slice(1)}`
        expect(all).toMatchObject({ [`sum${suffix}`]: 3, [`max${suffix}`]: 2 })
        const groups = await records().aggregate({ groupBy: [name], count: true })
        expect(groups.map((group) => (group as Row)[name])).toEqual([1, 2])
      }
    })

    it('are read by REST with pages, and changed', async () => {
      for (const name of names) {
        const page = await app.inject({ url: `${url}?orderBy=-${name}&limit=1&${name}.gte=1` })
        expect(page.json()).toMatchObject([{ [name]: 2 }])
      }
      const changes = Object.fromEntries(names.map((name) => [name, 7]))
      const { id } = (await records().list({ limit: 1, orderBy: { id: 'asc' } }))[0]! as {
        id: number
      }
      const changed = await app.inject({ method: 'PATCH', url: `${url}/${id}`, json: changes })
      expect(changed.json()).toMatchObject(changes)
      await records().updateWhere(
        { id },
        Object.fromEntries(names.map((name) => [name, { add: -6 }])),
      )
      expect((await records().find(id))?.[names[0]!]).toBe(1)
    })

    it('are read with their children, by GraphQL and by repositories', async () => {
      const [owner] = await database
        .records(Words)
        .list({ with: ['children'], orderBy: { id: 'asc' } })
      const [child] = (owner as object as Parent).children
      expect(names.map((name) => child![name])).toEqual(names.map(() => 1))
      const graphqlNames = names.map((name) =>
        name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
      )
      const fields = graphqlNames.join(' ')
      const list = Words.name.replace('Words', 'list')
      const query = `{ ${list}(limit: 2) { ${fields} children(limit: 2) { ${fields} } } }`
      const response = await app.inject({ method: 'POST', url: '/graphql', json: { query } })
      const { data, errors } = response.json() as {
        data: Record<string, Parent[]>
        errors?: unknown
      }
      expect(errors).toBeUndefined()
      const [first] = data[list]!
      expect(first!.children).toMatchObject([
        Object.fromEntries(graphqlNames.map((name) => [name, 1])),
      ])
    })
  })
})
