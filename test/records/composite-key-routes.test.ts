import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Database,
  Field,
  Module,
  NoAuth,
  Record,
  type Application,
} from '../../src/index.js'
import { startBothEngines } from './both-engines.js'
import { Parcel, Sale, SaleLine, Tag } from './composite-records.js'

@Record({ key: ['country', 'name'], version: true })
class Place {
  @Field('string') country!: string
  @Field('string') name!: string
  @Field('integer', { default: 0 }) people!: number
}

@Controller('/sale-lines', { crud: SaleLine })
@NoAuth
class SaleLines {}

@Controller('/sales', { crud: Sale })
@NoAuth
class Sales {}

@Controller('/parcels', { crud: Parcel })
@NoAuth
class Parcels {}

@Controller('/places', { crud: Place })
@NoAuth
class Places {}

@Module({
  controllers: [SaleLines, Sales, Parcels, Places],
  records: [Sale, SaleLine, Parcel, Tag, Place],
})
class Shop {}

const engines = await startBothEngines()

describe.each(engines)('the routes of a record with a key of two fields on %s', (_name, open) => {
  let app: Application

  beforeAll(async () => {
    const env = { APP_API_KEY: 'key' }
    const database = await open()
    app = await bootstrap(Shop, { listen: false, logger: false, database, env, graphql: false })
    await app.get(Database).records(Sale).create({ customer: 'Ada' })
  })

  afterAll(() => app.close())

  const send = (method: string, url: string, json?: object, headers = {}) =>
    app.inject({
      method,
      url,
      headers: { authorization: 'Bearer key', ...headers },
      ...(json && { json }),
    })

  it('create, read, change and delete a row', async () => {
    const line = { saleId: 1, line: 1, product: 'pen' }
    const created = await send('POST', '/sale-lines', line)
    expect([created.status, created.headers.location]).toEqual([201, '/sale-lines/1,1'])
    expect((await send('GET', '/sale-lines/1,1')).json()).toEqual({ ...line, amount: 1 })
    expect((await send('PATCH', '/sale-lines/1,1', { amount: 3 })).json()).toMatchObject({
      amount: 3,
    })
    const whole = await send('PUT', '/sale-lines/1,1', { ...line, product: 'ink' })
    expect(whole.json()).toMatchObject({ product: 'ink' })
    const moved = await send('PATCH', '/sale-lines/1,1', { line: 2 })
    expect([moved.status, moved.json()]).toMatchObject([
      400,
      { errors: [{ path: 'line', code: 'readOnly' }] },
    ])
    expect((await send('DELETE', '/sale-lines/1,1')).status).toBe(204)
    expect((await send('GET', '/sale-lines/1,1')).status).toBe(404)
  })

  it.each(['1', '1,2,3', '1,x', ',', '1,', '[1,1]'])('respond 404 to the key %s', async (key) => {
    for (const method of ['GET', 'DELETE'])
      expect((await send(method, `/sale-lines/${key}`)).status).toBe(404)
    expect((await send('PATCH', `/sale-lines/${key}`, { amount: 1 })).status).toBe(404)
  })

  it('percent-encode each part', async () => {
    const name = 'a,b/c%é "?'
    const created = await send('POST', '/places', { country: 'D,E', name })
    const { location } = created.headers
    expect(location).toBe('/places/D%2CE,a%2Cb%2Fc%25%C3%A9%20%22%3F')
    expect((await send('GET', String(location))).json()).toMatchObject({ country: 'D,E', name })
    expect((await send('GET', '/places/D,E,a')).status).toBe(404)
    const tag = (await send('GET', String(location))).headers.etag
    expect(tag).toBe('"1"')
    const change = (etag: unknown) =>
      send('PATCH', String(location), { people: 5 }, { 'If-Match': etag })
    expect((await change('"2"')).status).toBe(412)
    expect((await change(tag)).json()).toMatchObject({ people: 5, version: 2 })
  })

  it('nest rows, and name the path of an error', async () => {
    const created = await send('POST', '/sales', {
      customer: 'Eve',
      lines: { create: [{ line: 1, product: 'pen' }] },
    })
    expect(created.status).toBe(201)
    const { id } = created.json() as Sale
    const parcel = await send('POST', '/parcels', {
      weight: '1',
      saleLine: { connect: { saleId: id, line: 1 } },
    })
    expect([parcel.status, parcel.json()]).toMatchObject([201, { saleId: id, line: 1 }])
    const broken = await send('POST', '/parcels', {
      weight: '1',
      saleLine: { connect: { saleId: id, line: 9 } },
    })
    expect(broken.status).toBe(409)
    expect(broken.json()).toMatchObject({ errors: [{ path: 'saleLine.connect' }] })
    const wrong = await send('POST', '/parcels', { weight: '1', saleLine: { connect: 7 } })
    expect(wrong.status).toBe(400)
    const changed = await send('PATCH', `/sales/${id}`, {
      lines: { update: [{ saleId: id, line: 1, product: 'nib' }] },
    })
    expect(changed.status).toBe(200)
    const list = await send('GET', `/sale-lines?saleId=${id}&with=parcels,sale&counts=parcels`)
    expect(list.json()).toMatchObject([
      { product: 'nib', sale: { id }, parcels: [{ weight: '1' }], parcelsCount: 1 },
    ])
  })

  it('list in pages', async () => {
    for (let line = 1; line <= 5; line++)
      await send('POST', '/sale-lines', { saleId: 1, line, product: `p${line}` })
    const seen: number[] = []
    let url: string | undefined = '/sale-lines?saleId=1&limit=2'
    while (url !== undefined) {
      const page: Awaited<ReturnType<typeof send>> = await send('GET', url)
      seen.push(...(page.json() as SaleLine[]).map(({ line }) => line))
      url = /<([^>]+)>; rel="next"/.exec(page.headers.link ?? '')?.[1]
    }
    expect(seen).toEqual([1, 2, 3, 4, 5])
  })

  it('are documented with one parameter for the key', async () => {
    const document = (await send('GET', '/swagger/openapi.json')).json() as {
      paths: globalThis.Record<string, globalThis.Record<string, { parameters: unknown[] }>>
    }
    const { parameters } = document.paths['/sale-lines/{id}']?.get ?? { parameters: [] }
    expect(parameters).toContainEqual(
      expect.objectContaining({
        name: 'id',
        in: 'path',
        required: true,
        style: 'simple',
        schema: expect.objectContaining({ type: 'array', minItems: 2 }),
      }),
    )
  })

  it('describe what each row has: fields with a default, and the numbers of related rows', async () => {
    const document = (await send('GET', '/swagger/openapi.json')).json() as {
      components: { schemas: globalThis.Record<string, { properties: object; required: string[] }> }
    }
    const { SaleLine: schema } = document.components.schemas
    expect(schema?.required).toContain('amount')
    expect(schema?.properties).toMatchObject({ parcelsCount: { type: 'integer' } })
  })
})
