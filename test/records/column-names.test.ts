/** Columns of databases that other programs made, whose names have spaces and hyphens. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Database,
  Field,
  Module,
  Record,
  type Application,
  type ExactNumber,
  type Generated,
} from '../../src/index.js'
import { startPostgres } from './postgres-server.js'

const folder = await mkdtemp(join(tmpdir(), 'filigree-names-'))
const server = await startPostgres()
afterAll(async () => {
  await server.close()
  await rm(folder, { recursive: true, force: true })
})

@Record({ key: ['orderNumber', 'line'], indexes: [{ fields: ['zipCode', 'size'] }] })
class Parcel {
  @Field('integer', { column: 'Order No' }) orderNumber!: number
  @Field('integer', { column: '1st-line' }) line!: number
  @Field('string', { column: 'zip code', maxLength: 9, index: true }) zipCode!: string
  @Field('integer', { column: 'Size  in-cm', min: 0, nullable: true }) size!: number | null
  @Field('decimal', { column: 'net-weight', precision: 8, scale: 2 }) weight!: ExactNumber
  @Field('string', { column: 'bar code', unique: true, nullable: true }) barCode!: string | null
  @Field('string', { list: true, column: 'search words' }) words!: string[]
  @Field('datetime', { column: 'sent at', default: 'now' }) sentAt!: Generated<string>
}
@Module({ records: [Parcel] })
class AppModule {}

const parcel = { orderNumber: 7, line: 1, zipCode: '12345', size: 3, weight: '1.50', words: ['a'] }
const token = 'a-token-of-thirty-two-characters'

describe.each(['SQLite', 'PostgreSQL'])('columns with other names on %s', (engine) => {
  let app: Application
  beforeAll(async () => {
    const database =
      engine === 'SQLite' ? `sqlite:${join(folder, 'names.db')}` : await server.createDatabase()
    app = await bootstrap(AppModule, {
      ...{ database, logger: false, listen: false },
      env: { APP_API_KEY: token },
      auth: { keys: false },
    })
  })
  afterAll(() => app.close())

  it('are written, filtered, sorted and aggregated', async () => {
    const parcels = app.get(Database).records(Parcel)
    await parcels.create({ ...parcel, barCode: 'x' })
    await parcels.insertMany([
      { ...parcel, line: 2, zipCode: '99999', size: null, barCode: 'y' },
      { ...parcel, line: 3, weight: '2.25', barCode: null },
    ])
    await parcels.update({ orderNumber: 7, line: 3 }, { size: 4 })
    await parcels.upsert(
      { ...parcel, line: 3, size: 5, barCode: null },
      { by: ['orderNumber', 'line'] },
    )
    expect(await parcels.find({ orderNumber: 7, line: 3 })).toMatchObject({ size: 5 })
    const listed = await parcels.list({
      where: { zipCode: { startsWith: '123' }, size: { gte: 3 }, words: { has: 'a' } },
      orderBy: [{ size: 'desc' }, 'line'],
    })
    expect(listed.map(({ line }) => line)).toEqual([3, 1])
    const grouped = await parcels.aggregate({
      groupBy: ['zipCode'],
      sum: ['weight'],
      max: ['size'],
      orderBy: { zipCode: 'asc' },
    })
    expect(grouped).toMatchObject([
      { zipCode: '12345', sumWeight: '3.00', maxSize: 5 },
      { zipCode: '99999', sumWeight: '1.50', maxSize: null },
    ])
  })

  it('have errors with the names of their fields', async () => {
    const parcels = app.get(Database).records(Parcel)
    await expect(parcels.create({ ...parcel, line: 9, barCode: 'x' })).rejects.toMatchObject({
      status: 409,
      message: 'barCode is already taken',
    })
  })

  it('are read by GraphQL', async () => {
    const query = `{ parcels(where: { zipCode: { eq: "12345" } }, orderBy: [{ sentAt: asc }, { line: asc }]) { line size weight words } }`
    const response = await app.inject({ method: 'POST', url: '/graphql', json: { query } })
    expect(response.json()).toEqual({
      data: {
        parcels: [
          { line: 1, size: 3, weight: '1.50', words: ['a'] },
          { line: 3, size: 5, weight: '1.50', words: ['a'] },
        ],
      },
    })
  })
})
