/** Versions and rules of the whole row by every door of a client. Source: decisions, Records: writes. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { ValidateBy } from 'class-validator'
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

const behind = ValidateBy({
  name: 'behind',
  validator: {
    validate: (until, args) => String(until) > (args?.object as Stay).from,
    defaultMessage: () => 'until must be behind from',
  },
})

@NoAuth
@Record({ version: true })
class Stay {
  @Field('id') id!: number
  @Field('string', { trim: true, maxLength: 3 }) from!: string
  @behind
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

@Module({ controllers: [Stays], records: [Stay] })
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

  const ask = (method: string, headers: { [name: string]: string } = {}, json?: object) =>
    app.inject({ method, url: `/stays/${id}`, headers, ...(json && { json }) })
  const run = async (query: string) => {
    const answer = await app.inject({ method: 'POST', url: '/graphql', json: { query } })
    return answer.json() as { data: object; errors?: { extensions: object }[] }
  }

  beforeEach(async () => {
    await app.get(Database).records(Stay).deleteWhere({})
    const json = { from: ' b ', until: 'd' }
    const made = await app.inject({ method: 'POST', url: '/stays', json })
    const body = made.json() as Stay
    expect(body).toMatchObject({ from: 'b', version: 1 })
    id = body.id
    etag = String(made.headers.etag)
    expect(etag).toBe('"1"')
  })

  it('REST: ETag, If-None-Match and If-Match', async () => {
    const found = await ask('GET')
    expect([found.status, found.headers.etag]).toStrictEqual([200, '"1"'])
    expect((await ask('GET', { 'If-None-Match': 'W/"7", "1"' })).status).toBe(304)
    expect((await ask('GET', { 'If-None-Match': '"2"' })).status).toBe(200)
    const changed = await ask('PATCH', { 'If-Match': '"1"' }, { until: 'e' })
    expect([changed.status, changed.headers.etag]).toStrictEqual([200, '"2"'])
    const whole = { from: 'b', until: 'f' }
    for (const old of ['"1"', 'W/"2"', '"x"', '"1", "3"']) {
      expect((await ask('PATCH', { 'If-Match': old }, { until: 'f' })).status).toBe(412)
      expect((await ask('PUT', { 'If-Match': old }, whole)).status).toBe(412)
      expect((await ask('DELETE', { 'If-Match': old })).status).toBe(412)
    }
    for (const malformed of ['2', '"2', '"1" "2"', ''])
      expect((await ask('PATCH', { 'If-Match': malformed }, { until: 'f' })).status).toBe(400)
    expect((await ask('PUT', { 'If-Match': '"1", "2"' }, whole)).status).toBe(200)
    expect((await ask('PATCH', { 'If-Match': '*' }, { until: 'g' })).status).toBe(200)
    expect((await ask('PATCH', {}, { until: 'h' })).status).toBe(200)
    expect((await ask('PATCH', {}, { version: 1 })).status).toBe(400)
    expect((await ask('DELETE', { 'If-Match': '"5"' })).status).toBe(204)
    expect((await ask('DELETE', { 'If-Match': '*' })).status).toBe(404)
  })

  it('GraphQL: expectedVersion', async () => {
    const update = (version: number) =>
      run(
        `mutation { updateStay(id: ${id}, input: { until: "e" }, expectedVersion: ${version}) { version } }`,
      )
    expect(await update(1)).toStrictEqual({ data: { updateStay: { version: 2 } } })
    expect((await update(1)).errors).toMatchObject([{ extensions: { code: 'CONFLICT' } }])
    const gone = (version: number) =>
      run(`mutation { deleteStay(id: ${id}, expectedVersion: ${version}) }`)
    expect((await gone(1)).errors).toMatchObject([{ extensions: { code: 'CONFLICT' } }])
    expect(await gone(2)).toStrictEqual({ data: { deleteStay: true } })
    const input = await run(
      `mutation { createStay(input: { from: "a", until: "b", version: 3 }) { id } }`,
    )
    expect(input.errors).toHaveLength(1)
  })

  it('rules across fields see the row as it will be', async () => {
    expect((await ask('PATCH', {}, { until: 'c' })).status).toBe(200)
    const wrong = await ask('PATCH', {}, { from: 'x' })
    expect([wrong.status, wrong.json()]).toMatchObject([
      400,
      { errors: [{ path: 'until', code: 'behind' }] },
    ])
    const failed = await run(`mutation { updateStay(id: ${id}, input: { from: "x" }) { id } }`)
    expect(failed.errors).toMatchObject([
      { extensions: { code: 'VALIDATION', errors: [{ path: 'input.until', code: 'behind' }] } },
    ])
  })

  it('a fault of a hidden field never names it', async () => {
    const answer = await ask('PATCH', {}, { until: 'long' })
    expect(answer.status).toBe(400)
    expect(answer.body).not.toContain('secret')
    const failed = await run(`mutation { updateStay(id: ${id}, input: { until: "long" }) { id } }`)
    expect(JSON.stringify(failed.errors)).toContain('VALIDATION')
    expect(JSON.stringify(failed.errors)).not.toContain('secret')
  })

  it('a hundred buyers who look at the version lose nothing', async () => {
    const add = async (): Promise<void> => {
      for (;;) {
        const found = await ask('GET')
        const { until } = found.json() as Stay
        const headers = { 'If-Match': String(found.headers.etag) }
        const { status } = await ask('PATCH', headers, { until: `${until}+` })
        if (status === 200) return
        expect(status).toBe(412)
      }
    }
    await Promise.all(Array.from({ length: 20 }, add))
    expect((await ask('GET')).json()).toMatchObject({ until: `d${'+'.repeat(20)}`, version: 21 })
  })
})
