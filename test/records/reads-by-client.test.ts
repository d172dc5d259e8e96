/** Long reads of many requests of one client do not delay another client. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { bootstrap, Controller, Database, Field, Module, Record, type Application } from 'filigree'
import { startPostgres } from './postgres-server.js'

@Record
class Parcel {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Controller('/parcels', { crud: Parcel })
class ParcelController {}

@Module({ controllers: [ParcelController], records: [Parcel] })
class ParcelModule {}

const server = await startPostgres()
afterAll(() => server.close())
const folder = await mkdtemp(join(tmpdir(), 'filigree-clients-'))
afterAll(() => rm(folder, { recursive: true }))

const parcelCount = 12_000
/** More than an engine has readers. With the first reads, fewer than PostgreSQL needs to learn that a statement is quick. */
const requestCount = 20

describe.each([
  ['SQLite', () => Promise.resolve(`sqlite:${join(folder, 'parcels.db')}`)],
  ['PostgreSQL', () => server.createDatabase()],
])('long reads of one client on %s', (_engine, open) => {
  let app: Application
  beforeAll(async () => {
    app = await bootstrap(ParcelModule, {
      ...{ listen: false, logger: false, env: {}, trustProxy: 1 },
      database: await open(),
    })
    const rows = Array.from({ length: parcelCount }, (_, index) => ({ name: `Parcel ${index}` }))
    await app.get(Database).records(Parcel).insertMany(rows)
  })
  afterAll(() => app.close())

  /** @param number tells requests apart, so that they cannot share a statement */
  const list = async (address: string, number: number, filter: string): Promise<number> => {
    const response = await app.inject({
      url: `/parcels?name.ilike=%25${number}&${filter}&orderBy=-name&limit=5`,
      headers: { 'x-forwarded-for': address },
    })
    return response.status
  }

  it.each([
    ['of the same address', 'of another address', ['192.0.2.1'], '192.0.2.2', 'id.gt=0'],
    [
      'of one IPv6 network',
      'of another network',
      ['2001:db8::1', '2001:db8::2'],
      '2001:db8:0:1::1',
      'id.lt=99999',
    ],
  ])('%s do not delay a later read %s', async (_same, _other, addresses, address, filter) => {
    const ended: string[] = []
    const readAll = async (greedyCount: number): Promise<void> => {
      const greedy = Array.from({ length: greedyCount }, async (_, number) => {
        const status = await list(addresses[number % addresses.length] ?? '', number, filter)
        ended.push(`greedy ${status}`)
      })
      const small = list(address, greedyCount, filter).then((status) =>
        ended.push(`small ${status}`),
      )
      await Promise.all([...greedy, small])
    }
    // Opens the connections and starts the threads, which may take longer than all the reads.
    await readAll(6)
    ended.length = 0
    await readAll(requestCount)
    expect(ended.filter((one) => one === 'greedy 200')).toHaveLength(requestCount)
    expect(ended.indexOf('small 200')).toBeGreaterThanOrEqual(0)
    expect(ended.indexOf('small 200')).toBeLessThan(requestCount / 2)
  })
})
