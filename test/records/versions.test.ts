/** Versions and cross-field rules over REST and GraphQL. Source: decisions, Records: writes. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  BeforeWrite,
  bootstrap,
  Controller,
  Database,
  Field,
  Module,
  NoAuth,
  Record,
  type Application,
} from 'filigree'
import { startBothEngines } from './both-engines.js'
import { isAfter } from './is-after.js'

@NoAuth
@Record({ version: true })
class Stay {
  @Field('id') id!: number
  @Field('string', { trim: true, maxLength: 3 }) from!: string
  @isAfter
  @Field('string')
  until!: string
  @Field('string', { hidden: true, optional: true, maxLength: 3 }) secret?: string

  @BeforeWrite()
  prepare() {
    if (this.until === 'long') this.secret = 'too long'
  }
}

@Controller('/stays', { crud: Stay })
@NoAuth
class Stays {}

/** A record without versions. */
@NoAuth
@Record
class Guest {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Controller('/guests', { crud: Guest })
@NoAuth
class Guests {}

@Module({ controllers: [Stays, Guests], records: [Stay, Guest] })
class Hotel {}

const engines = await startBothEngines()

describe.each(engines)('versions on %s', (_, open) => {
  let app: Application
  let id: number
  let etag: string
  beforeAll(async () => {
    app = await bootstrap(Hotel, { listen: false, logger: false, database: await open() })
  })
  afterAll(() => app.close())

  const send = (method: string, headers: { [name: string]: string } = {}, json?: object) =>
    app.inject({ method, url: `/stays/${id}`, headers, ...(json && { json }) })
  const run = async (query: string) => {
    const response = await app.inject({ method: 'POST', url: '/graphql', json: { query } })
    return response.json() as { data: object; errors?: { extensions: object }[] }
  }

  beforeEach(async () => {
    await app.get(Database).records(Stay).deleteWhere({})
    const json = { from: ' b ', until: 'd' }
    const created = await app.inject({ method: 'POST', url: '/stays', json })
    const body = created.json() as Stay
    expect(body).toMatchObject({ from: 'b', version: 1 })
    id = body.id
    etag = String(created.headers.etag)
    expect(etag).toBe('"1"')
  })

  it('work over REST with ETag, If-None-Match and If-Match', async () => {
    const found = await send('GET')
    expect([found.status, found.headers.etag]).toStrictEqual([200, '"1"'])
    expect((await send('GET', { 'If-None-Match': 'W/"7", "1"' })).status).toBe(304)
    expect((await send('GET', { 'If-None-Match': '"2"' })).status).toBe(200)
    const changed = await send('PATCH', { 'If-Match': '"1"' }, { until: 'e' })
    expect([changed.status, changed.headers.etag]).toStrictEqual([200, '"2"'])
    const replacement = { from: 'b', until: 'f' }
    for (const old of ['"1"', 'W/"2"', '"x"', '"1", "3"']) {
      expect((await send('PATCH', { 'If-Match': old }, { until: 'f' })).status).toBe(412)
      expect((await send('PUT', { 'If-Match': old }, replacement)).status).toBe(412)
      expect((await send('DELETE', { 'If-Match': old })).status).toBe(412)
    }
    for (const malformed of ['2', '"2', '"1" "2"', ''])
      expect((await send('PATCH', { 'If-Match': malformed }, { until: 'f' })).status).toBe(400)
    expect((await send('PUT', { 'If-Match': '"1", "2"' }, replacement)).status).toBe(200)
    expect((await send('PATCH', { 'If-Match': '*' }, { until: 'g' })).status).toBe(200)
    expect((await send('PATCH', {}, { until: 'h' })).status).toBe(200)
    expect((await send('PATCH', {}, { version: 1 })).status).toBe(400)
    expect((await send('DELETE', { 'If-Match': '"5"' })).status).toBe(204)
    expect((await send('DELETE', { 'If-Match': '*' })).status).toBe(404)
  })

  it('are required by If-Match, which is never ignored', async () => {
    const created = await app.inject({ method: 'POST', url: '/guests', json: { name: 'Ann' } })
    const url = `/guests/${(created.json() as Guest).id}`
    const etag = String((await app.inject({ url })).headers.etag)
    const write = (method: string, match: string, json?: object) =>
      app.inject({ method, url, headers: { 'If-Match': match }, ...(json && { json }) })
    for (const [method, json] of [
      ['PATCH', { name: 'Bob' }],
      ['PUT', { name: 'Bob' }],
      ['DELETE', undefined],
    ] as const) {
      const refused = await write(method, etag, json)
      expect({ status: refused.status, body: refused.body }).toMatchObject({
        status: 412,
        body: expect.stringContaining('Guest has no version'),
      })
      expect((await write(method, 'x', json)).status).toBe(400)
    }
    expect((await app.inject({ url })).json()).toMatchObject({ name: 'Ann' })
    expect((await write('PATCH', '*', { name: 'Bob' })).status).toBe(200)
  })

  it('work over GraphQL with expectedVersion', async () => {
    const update = (version: number) =>
      run(
        `mutation { updateStay(id: ${id}, input: { until: "e" }, expectedVersion: ${version}) { version } }`,
      )
    expect(await update(1)).toStrictEqual({ data: { updateStay: { version: 2 } } })
    expect((await update(1)).errors).toMatchObject([{ extensions: { code: 'CONFLICT' } }])
    const remove = (version: number) =>
      run(`mutation { deleteStay(id: ${id}, expectedVersion: ${version}) }`)
    expect((await remove(1)).errors).toMatchObject([{ extensions: { code: 'CONFLICT' } }])
    expect(await remove(2)).toStrictEqual({ data: { deleteStay: true } })
    const input = await run(
      `mutation { createStay(input: { from: "a", until: "b", version: 3 }) { id } }`,
    )
    expect(input.errors).toHaveLength(1)
  })

  it('do not bypass cross-field rules, which check the updated row', async () => {
    expect((await send('PATCH', {}, { until: 'c' })).status).toBe(200)
    const wrong = await send('PATCH', {}, { from: 'x' })
    expect([wrong.status, wrong.json()]).toMatchObject([
      400,
      { errors: [{ path: 'until', code: 'isAfter' }] },
    ])
    const failed = await run(`mutation { updateStay(id: ${id}, input: { from: "x" }) { id } }`)
    expect(failed.errors).toMatchObject([
      { extensions: { code: 'VALIDATION', errors: [{ path: 'input.until', code: 'isAfter' }] } },
    ])
  })

  it('an error of a hidden field never names the field', async () => {
    const response = await send('PATCH', {}, { until: 'long' })
    expect(response.status).toBe(400)
    expect(response.body).not.toContain('secret')
    const failed = await run(`mutation { updateStay(id: ${id}, input: { until: "long" }) { id } }`)
    expect(JSON.stringify(failed.errors)).toContain('VALIDATION')
    expect(JSON.stringify(failed.errors)).not.toContain('secret')
  })

  it('let twenty concurrent clients retry without losing an update', async () => {
    const add = async (): Promise<void> => {
      for (;;) {
        const found = await send('GET')
        const { until } = found.json() as Stay
        const headers = { 'If-Match': String(found.headers.etag) }
        const { status } = await send('PATCH', headers, { until: `${until}+` })
        if (status === 200) return
        expect(status).toBe(412)
      }
    }
    await Promise.all(Array.from({ length: 20 }, add))
    expect((await send('GET')).json()).toMatchObject({ until: `d${'+'.repeat(20)}`, version: 21 })
  })
})
