/** ETags per caller and selection, and cross-field rules that read hidden fields. Source: decisions, Records: writes. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ValidateBy, ValidateIf } from 'class-validator'
import {
  bootstrap,
  Controller,
  Database,
  Field,
  BelongsTo,
  Module,
  NoAuth,
  Record,
  Secured,
  connect,
  DeclarationError,
  type Application,
  type Rel,
} from 'filigree'
import { startBothEngines } from './both-engines.js'
import type { Class } from '../public-types.js'

const isWithinLimit = ValidateBy({
  name: 'within',
  validator: {
    validate: (total, args) => Number(total) <= (args?.object as Trip).limit,
    defaultMessage: () => 'total must be within the limit',
  },
})

@NoAuth
@Record({ version: true })
class Town {
  @Field('id') id!: number
  @Field('string') name!: string
}

@NoAuth
@Record({ version: true })
class Trip {
  @Field('id') id!: number
  @isWithinLimit
  @Field('integer')
  total!: number
  @Field('integer', { hidden: true, default: 5 }) limit!: number
  @Field('string', { readOnly: true, default: 'open' }) state!: string
  @ValidateIf((trip: Trip) => trip.state !== 'open')
  @Field('string', { optional: true, maxLength: 3 })
  note?: string
  @Secured()
  @Field('integer', { optional: true, nullable: true })
  cost?: number | null
  @Field('integer') townId!: number
  @BelongsTo(() => Town) town!: Rel<Town>
}

@Controller('/trips', { crud: Trip })
@NoAuth
class Trips {}

@Module({ controllers: [Trips], records: [Trip, Town] })
class Agency {}

const engines = await startBothEngines()

describe.each(engines)('ETags of rows that callers see differently on %s', (_, open) => {
  let app: Application
  let id: number
  const send = (method: string, path: string, headers = {}, json?: object) =>
    app.inject({ method, url: `/trips${path}`, headers, ...(json && { json }) })
  const key = { Authorization: 'Bearer key' }
  beforeAll(async () => {
    const env = { APP_API_KEY: 'key' }
    app = await bootstrap(Agency, { listen: false, logger: false, database: await open(), env })
    await app.get(Database).records(Town).create({ name: 'Ulm' })
    const created = await send('POST', '', key, { total: 4, townId: 1, cost: 9 })
    expect([created.status, created.headers.etag]).toStrictEqual([201, '"1"'])
    expect(created.headers['access-control-expose-headers']).toContain('ETag')
    id = (created.json() as Trip).id
  })
  afterAll(() => app.close())

  it('are strong, distinct per body, and valid for If-Match', async () => {
    const forKey = await send('GET', `/${id}`, key)
    const forAnonymous = await send('GET', `/${id}`)
    expect(forKey.json()).toMatchObject({ cost: 9 })
    expect(forAnonymous.json()).not.toHaveProperty('cost')
    const tags = [forKey, forAnonymous].map(({ headers }) => String(headers.etag))
    expect(tags).toStrictEqual(['"1"', expect.stringMatching(/^"1-[\w-]+"$/)])
    for (const [index, headers] of [key, {}].entries()) {
      const [ownTag = '', otherTag = ''] = index === 0 ? tags : [...tags].reverse()
      expect((await send('GET', `/${id}`, { ...headers, 'If-None-Match': ownTag })).status).toBe(
        304,
      )
      expect((await send('GET', `/${id}`, { ...headers, 'If-None-Match': otherTag })).status).toBe(
        200,
      )
    }
    const changed = await send('PATCH', `/${id}`, { 'If-Match': tags[1] }, { total: 3 })
    expect([changed.status, changed.headers.etag]).toStrictEqual([
      200,
      tags[1]?.replace('"1-', '"2-'),
    ])
    for (const old of tags)
      expect((await send('PATCH', `/${id}`, { 'If-Match': old }, { total: 3 })).status).toBe(412)
  })

  it('are distinct per selection, and cover related rows', async () => {
    const tagOf = async (query: string): Promise<string> =>
      String((await send('GET', `/${id}${query}`)).headers.etag)
    const queries = ['', '?fields=id', '?fields=id,total', '?with=town']
    const tags = await Promise.all(queries.map(tagOf))
    expect(new Set(tags).size).toBe(queries.length)
    const cached = await send('GET', `/${id}?with=town`, { 'If-None-Match': tags[3] })
    expect([cached.status, cached.headers.etag]).toStrictEqual([304, tags[3]])
    await app.get(Database).records(Town).update(1, { name: 'Köln' })
    const renamed = await send('GET', `/${id}?with=town`, { 'If-None-Match': tags[3] })
    expect(renamed.status).toBe(200)
    const changed = await send('PATCH', `/${id}`, { 'If-Match': tags[1] }, { total: 2 })
    expect(changed.status).toBe(200)
    const old = await send('PATCH', `/${id}`, { 'If-Match': tags[3] }, { total: 2 })
    expect(old.status).toBe(412)
  })

  it.each(['PUT', 'PATCH', 'DELETE'])('%s: If-None-Match excludes versions', async (method) => {
    const created = await send('POST', '', key, { total: 1, townId: 1 })
    const path = `/${(created.json() as Trip).id}`
    const write = async (headers: object, at = path): Promise<[number, unknown]> => {
      const body = method === 'DELETE' ? undefined : { total: 2, townId: 1 }
      const response = await send(method, at, headers, body)
      return [response.status, response.headers.etag]
    }
    for (const condition of ['*', '"1"', 'W/"1"', '"7", "1-abc"'])
      expect(await write({ 'If-None-Match': condition })).toStrictEqual([412, undefined])
    expect(await write({ 'If-None-Match': '"1"', 'If-Match': '*' })).toStrictEqual([412, undefined])
    expect(await write({ 'If-None-Match': '"7"', 'If-Match': '"7"' })).toStrictEqual([
      412,
      undefined,
    ])
    expect(await write({ 'If-None-Match': 'one' })).toStrictEqual([400, undefined])
    expect((await send('GET', path, key)).json()).toMatchObject({ total: 1, version: 1 })
    expect(await write({ 'If-None-Match': '*' }, '/999')).toStrictEqual([404, undefined])
    const done = method === 'DELETE' ? [204, undefined] : [200, expect.stringContaining('"2')]
    expect(await write({ 'If-None-Match': '"7"', 'If-Match': '"1"' })).toStrictEqual(done)
  })

  it.each(['POST', 'PUT', 'PATCH'])(
    '%s: cross-field rules read hidden and stored values',
    async (method) => {
      const path = method === 'POST' ? '' : `/${id}`
      const row = (total: number): object => ({ total, townId: 1 })
      expect((await send(method, path, {}, row(5))).status).toBeLessThan(300)
      const wrong = await send(method, path, {}, row(6))
      expect([wrong.status, wrong.json()]).toMatchObject([
        400,
        { errors: [{ path: 'total', code: 'within' }] },
      ])
      const closed = { ...row(1), note: 'too long while closed' }
      expect((await send(method, path, {}, closed)).status).toBe(400)
    },
  )
})

describe('a record with versions that declares the version field', () => {
  const problemsOf = async (type: Class): Promise<string[]> => {
    try {
      await (await connect('sqlite::memory:', { records: [type] })).close()
      return []
    } catch (error) {
      if (!(error instanceof DeclarationError)) throw error
      return error.problems.map(({ code }) => code)
    }
  }
  it('is rejected unless the field can count versions', async () => {
    @Record({ version: true })
    class Text {
      @Field('id') id!: number
      @Field('string', { readOnly: true }) version!: string
    }
    @Record({ version: true })
    class Writable {
      @Field('id') id!: number
      @Field('integer') version!: number
    }
    @Record({ version: true })
    class Absent {
      @Field('id') id!: number
      @Field('integer', { readOnly: true, nullable: true }) version!: number | null
    }
    @Record({ version: true })
    class WithCounts {
      @Field('id') id!: number
      @Field('integer', { readOnly: true, default: 1, description: 'How often.' }) version!: number
    }
    @Record
    class WithoutVersions {
      @Field('id') id!: number
      @Field('string') version!: string
    }
    for (const type of [Text, Writable, Absent])
      expect(await problemsOf(type)).toStrictEqual(['RECORD_VERSION'])
    for (const type of [WithCounts, WithoutVersions])
      expect(await problemsOf(type)).toStrictEqual([])
  })
})
