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
/** More than an engine has readers. In both tests together, fewer than PostgreSQL needs to learn that a statement is quick. */
const requestCount = 14

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
  const list = async (address: string, number: number): Promise<number> => {
    const response = await app.inject({
      url: `/parcels?name.ilike=%25${number}&orderBy=-name&limit=5`,
      headers: { 'x-forwarded-for': address },
    })
    return response.status
  }

  it.each([
    ['of the same address', 'of another address', ['192.0.2.1'], '192.0.2.2'],
    [
      'of one IPv6 network',
      'of another network',
      ['2001:db8::1', '2001:db8::2'],
      '2001:db8:0:1::1',
    ],
  ])('%s do not delay a later read %s', async (_same, _other, addresses, address) => {
    const ended: string[] = []
    const greedy = Array.from({ length: requestCount }, async (_, number) => {
      const status = await list(addresses[number % addresses.length] ?? '', number)
      ended.push(`greedy ${status}`)
    })
    const small = list(address, requestCount).then((status) => ended.push(`small ${status}`))
    await Promise.all([...greedy, small])
    expect(ended.filter((one) => one === 'greedy 200')).toHaveLength(requestCount)
    expect(ended.indexOf('small 200')).toBeGreaterThanOrEqual(0)
    expect(ended.indexOf('small 200')).toBeLessThan(requestCount / 2)
  })
})
