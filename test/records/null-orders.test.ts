import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import {
  bootstrap,
  connect,
  Controller,
  Field,
  Module,
  NoAuth,
  Record,
  type Application,
  type Database,
} from 'filigree'
import { startBothEngines } from './both-engines.js'
import { readSql, runSql } from './run-sql.js'
import { randomNumbers } from '../random.js'

@Record({ indexes: [{ fields: ['-weight'] }] })
class Parcel {
  @Field('id') id!: number
  @Field('integer', { optional: true, nullable: true, index: true }) price!: number | null
  @Field('integer', { optional: true, nullable: true }) weight!: number | null
  @Field('integer') kind!: number
}

@Controller('/parcels', { crud: Parcel })
@NoAuth
class Parcels {}
@Module({ controllers: [Parcels], records: [Parcel] })
class App {}

const rows = Array.from({ length: 3000 }, (_, index) => ({
  id: index + 1,
  price: index % 100 === 7 ? null : (index * 7919) % 1000,
  weight: index % 2 === 0 ? null : (index * 31) % 50,
  kind: index % 3,
}))

type Direction = 'asc' | 'desc'
type Nulls = 'first' | 'last'

/** The expected order, computed in plain JavaScript. */
function sorted(by: 'price' | 'weight', direction: Direction, nulls: Nulls) {
  const sign = direction === 'asc' ? 1 : -1
  const rank = (value: number | null): number =>
    value === null ? (nulls === 'last' ? Infinity : -Infinity) : value * sign
  return rows.toSorted((a, b) => {
    const [x, y] = [rank(a[by]), rank(b[by])]
    return x === y ? a.id - b.id : x - y
  })
}

const orders = (['price', 'weight'] as const).flatMap((by) =>
  (['asc', 'desc'] as const).flatMap((direction) =>
    (['first', 'last'] as const).map((nulls) => [by, direction, nulls] as const),
  ),
)

const engines = await startBothEngines()

describe.each(engines)('lists ordered by a nullable column on %s', (name, open) => {
  let database: Database
  let app: Application
  beforeAll(async () => {
    database = await connect(await open(), { records: [Parcel] })
    app = await bootstrap(App, { listen: false, logger: false, database })
    await database.records(Parcel).insertMany(rows)
    await runSql(database, 'analyze')
  })
  afterAll(async () => {
    await app.close()
    await database.close()
  })

  it.each(orders)('%s %s, nulls %s', async (by, direction, nulls) => {
    const parcels = database.records(Parcel)
    const all = sorted(by, direction, nulls)
    const orderBy = { [by]: { direction, nulls } }
    const ids = async (options: object): Promise<number[]> =>
      (await parcels.list({ orderBy, ...options })).map(({ id }) => id)
    const ofKind = all.filter(({ kind }) => kind === 1)
    const idsOf = (list: readonly { id: number }[]) => list.map(({ id }) => id)

    expect(await ids({ limit: 20 })).toEqual(idsOf(all.slice(0, 20)))
    expect(await ids({ limit: 40, offset: 2950 })).toEqual(idsOf(all.slice(2950, 2990)))
    expect(await ids({ limit: 60, offset: 10, where: { kind: 1 } })).toEqual(
      idsOf(ofKind.slice(10, 70)),
    )
    expect(await ids({ limit: 20, where: { not: { [by]: { gte: 20 } } } })).toEqual(
      idsOf(all.filter((row) => !((row[by] ?? -1) >= 20)).slice(0, 20)),
    )
    expect(
      await ids({ limit: 20, where: { [by]: { ne: 31 }, or: [{ [by]: null }, { kind: 2 }] } }),
    ).toEqual(
      idsOf(
        all.filter((row) => row[by] !== 31 && (row[by] === null || row.kind === 2)).slice(0, 20),
      ),
    )
    expect(await ids({ limit: 5, where: { [by]: { in: [null, 8, 31] } } })).toEqual(
      idsOf(all.filter((row) => row[by] === null || [8, 31].includes(row[by])).slice(0, 5)),
    )
    expect(await ids({ limit: 5, where: { [by]: null, not: { [by]: null } } })).toEqual([])
    const firstNull = all.findIndex((row) => row[by] === null)
    for (const index of [0, firstNull - 3, firstNull, all.length - 2]) {
      const last = all[Math.max(0, index)]
      if (last === undefined) continue
      const row = await parcels.find(last.id)
      const after = parcels.cursorOf(row ?? new Parcel(), orderBy)
      const start = Math.max(0, index) + 1
      expect(await ids({ after, limit: 7 })).toEqual(idsOf(all.slice(start, start + 7)))
      expect(await ids({ after, limit: 7, where: { kind: 1 } })).toEqual(
        idsOf(all.slice(start).filter(({ kind }) => kind === 1)).slice(0, 7),
      )
    }
  })

  it('continue after any position in several fields, even if its row does not exist', async () => {
    const parcels = database.records(Parcel)
    const random = randomNumbers(7)
    const compareBy = (first: Row, second: Row, { by, direction, nulls }: Term): number => {
      const [x, y] = [first[by], second[by]]
      if (x === y) return 0
      if (x === null || y === null) return (x === null) === (nulls === 'first') ? -1 : 1
      return x < y === (direction === 'asc') ? -1 : 1
    }
    for (let iteration = 0; iteration < 60; iteration++) {
      const names = (['price', 'weight', 'kind'] as const).toSorted(() => random(3) - 1)
      const terms = names.slice(0, 1 + random(3)).map((by): Term => {
        const direction = random(2) === 0 ? 'asc' : 'desc'
        return { by, direction, nulls: random(2) === 0 ? 'first' : 'last' }
      })
      const orderBy = terms.map(({ by, ...options }) => ({ [by]: options }))
      const compare = (first: Row, second: Row): number => {
        for (const term of terms) {
          const found = compareBy(first, second, term)
          if (found !== 0) return found
        }
        return first.id - second.id
      }
      const position: Row = {
        id: random(3100),
        price: random(4) === 0 ? null : random(1000),
        weight: random(3) === 0 ? null : random(50),
        kind: random(3),
      }
      const expected = rows.filter((row) => compare(row, position) > 0).toSorted(compare)
      const after = parcels.cursorOf(Object.assign(new Parcel(), position), orderBy)
      const found = await parcels.list({ orderBy, after, limit: 25 })
      expect({ orderBy, position, ids: found.map(({ id }) => id) }).toEqual({
        orderBy,
        position,
        ids: expected.slice(0, 25).map(({ id }) => id),
      })
    }
  })

  it('return the same rows over GraphQL', async () => {
    for (const [by, direction, nulls] of orders.filter(([, , nulls]) => nulls === 'last')) {
      const all = sorted(by, direction, nulls)
      let after = ''
      for (let offset = 1460; offset < 1500; offset += 20) {
        if (after === '') {
          const parcels = database.records(Parcel)
          const last = await parcels.find(all[offset - 1]?.id ?? 0)
          const cursor = parcels.cursorOf(last ?? new Parcel(), { [by]: direction })
          after = `, after: "${cursor}"`
        }
        const query = `{
          parcels(orderBy: [{ ${by}: ${direction} }], limit: 20, offset: ${offset}) { id }
          parcelsPage(orderBy: [{ ${by}: ${direction} }], first: 20${after}) {
            edges { node { id } } pageInfo { endCursor hasNextPage }
          }
        }`
        const response = await app.inject({ method: 'POST', url: '/graphql', json: { query } })
        const { data } = response.json() as { data: ListResponse }
        const ids = all.slice(offset, offset + 20).map(({ id }) => id)
        expect(data.parcels.map(({ id }) => Number(id))).toEqual(ids)
        expect(data.parcelsPage.edges.map(({ node }) => Number(node.id))).toEqual(ids)
        after = `, after: "${data.parcelsPage.pageInfo.endCursor}"`
      }
    }
  })

  it.each([
    ['price', 'asc'],
    ['price', 'desc'],
    ['weight', 'desc'],
  ] as const)('use the index: %s %s', async (by, direction) => {
    const statements: string[] = []
    const onStatement = (message: unknown): void => {
      statements.push((message as { sql: string }).sql)
    }
    subscribe('filigree:statement', onStatement)
    await database.records(Parcel).list({ orderBy: { [by]: direction }, limit: 5 })
    unsubscribe('filigree:statement', onStatement)
    const [statement = ''] = statements.filter((text) => text.includes('parcel'))
    const explain = name === 'SQLite' ? 'explain query plan' : 'explain'
    const rows = await readSql(database, `${explain} ${statement.replaceAll(/\?|\$\d+/g, '5')}`)
    const plan = rows.flat().join('\n')
    expect(plan).toMatch(new RegExp(`index.*parcel_${by}_(desc_)?index`, 'i'))
  })
})

type Row = (typeof rows)[number]
interface Term {
  readonly by: 'price' | 'weight' | 'kind'
  readonly direction: Direction
  readonly nulls: Nulls
}

interface ListResponse {
  parcels: { id: string }[]
  parcelsPage: { edges: { node: { id: string } }[]; pageInfo: { endCursor: string } }
}
