/** Doubles keep all digits in JSON that the database builds. SQLite before 3.53 writes only 15 digits. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  type Application,
  BelongsTo,
  bootstrap,
  Controller,
  Field,
  HasMany,
  Module,
  NoAuth,
  Record,
  type Rel,
} from 'filigree'
import { connect, type Database } from '../../src/index.js'
import { startBothEngines } from './both-engines.js'

@Record({ plural: 'shelves' })
@NoAuth
class Shelf {
  @Field('id') id!: number
  @HasMany(() => Jar, { by: 'shelfId' }) jars!: Rel<Jar[]>
}

@Record()
@NoAuth
class Jar {
  @Field('id') id!: number
  @Field('numeric', { index: true }) weight!: number
  @Field('numeric', { optional: true, nullable: true }) rest!: number | null
  @Field('integer') shelfId!: number
  @BelongsTo(() => Shelf) shelf!: Rel<Shelf>
}

@Controller('/shelves', { crud: Shelf })
@NoAuth
class Shelves {}
@Module({ controllers: [Shelves], records: [Shelf, Jar] })
class App {}

const weights = [0.1 + 0.2, 0.3, 123456789.12345679, 1 / 3, 5e-324, 1e21, -1e-7, 2 ** 53, 1.5, 0]
const engines = await startBothEngines()

describe.each(engines)('doubles on %s', (_, open) => {
  let database: Database
  let app: Application
  beforeAll(async () => {
    database = await connect(await open(), { records: [Shelf, Jar] })
    app = await bootstrap(App, { listen: false, logger: false, database, graphql: true })
    await database.records(Shelf).create({})
    const jars = weights.map((weight, index) => ({
      weight,
      rest: index === 0 ? weight : null,
      shelfId: 1,
    }))
    await database.records(Jar).createMany(jars)
  })
  afterAll(async () => {
    await app.close()
    await database.close()
  })

  const query = async (text: string): Promise<unknown> => {
    const response = await app.inject({ method: 'POST', url: '/graphql', json: { query: text } })
    return (JSON.parse(response.body) as { data: unknown }).data
  }

  it('keep all digits in GraphQL, in related rows too', async () => {
    const jars = weights.map((weight, index) => ({ weight, rest: index === 0 ? weight : null }))
    expect(await query('{ jars { weight rest } }')).toEqual({ jars })
    expect(await query('{ shelves { jars { weight rest } } }')).toEqual({ shelves: [{ jars }] })
  })

  it('keep all digits in related rows over REST and from a repository', async () => {
    const [shelf] = await database.records(Shelf).list({ with: ['jars'] })
    expect(shelf?.jars.map(({ weight }) => weight)).toEqual(weights)
    const { body } = await app.inject({ url: '/shelves?with=jars' })
    const [shelfJson] = JSON.parse(body) as { jars: { weight: number; rest: number | null }[] }[]
    expect(shelfJson?.jars.map(({ weight }) => weight)).toEqual(weights)
    expect(shelfJson?.jars.map(({ rest }) => rest)).toEqual([weights[0], ...Array(9).fill(null)])
  })

  it('as sort keys lose no rows between pages', async () => {
    const found: number[] = []
    let after = ''
    for (let page = 0; page <= weights.length; page++) {
      const cursorArgument = after === '' ? '' : `, after: "${after}"`
      const data = (await query(
        `{ jarsPage(first: 1, orderBy: [{ weight: asc }]${cursorArgument}) { edges { cursor node { weight } } } }`,
      )) as { jarsPage: { edges: { cursor: string; node: { weight: number } }[] } }
      const [edge] = data.jarsPage.edges
      if (edge === undefined) break
      found.push(edge.node.weight)
      after = edge.cursor
    }
    expect(found).toEqual(weights.toSorted((a, b) => a - b))
  })
})
