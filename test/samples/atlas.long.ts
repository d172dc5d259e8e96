/** @jest-environment node */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Database, type Application } from '../../src/index.js'
import { City } from '../../samples/atlas/records.js'
import { World } from '../../samples/atlas/world.js'
import { databases, type AtlasDatabase } from './databases.js'
import { logIn, smallWorld, startAtlas } from './small-world.js'

const png = new File(
  [new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])],
  'flag.png',
  { type: 'image/png' },
)
const webp = new File(['RIFF\0\0\0\0WEBPVP8 '], 'flag.html', { type: 'text/html' })
const text = new File(['text'], 'flag.txt', { type: 'text/plain' })
const reykjavik = { id: 1, name: 'Reykjavík', lat: 64.13548, lng: -21.89541, country: 'IS' }

describe.each(databases)('the atlas on %s', (_, open) => {
  let folder: string
  let ground: AtlasDatabase
  let apps: Application[]
  let app: Application
  let token: string

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'filigree-atlas-'))
    ground = await open(folder)
    const { url, starts } = ground
    // Failed and concurrent loads use up sequence numbers on PostgreSQL, but the ids are still the positions in the lists.
    const cities = () => [...smallWorld.cities(), { name: '', lat: 0, lng: 0, country: 'IS' }]
    const gazetteer = { ...smallWorld, cities }
    await expect(startAtlas({ url, folder, gazetteer })).rejects.toThrow('10.name must have')
    apps = await Promise.all(Array.from({ length: starts }, () => startAtlas({ url, folder })))
    app = apps[0]!
    token = await logIn(app)
  })

  afterAll(async () => {
    for (const each of apps) await each.close()
    await ground.close()
    rmSync(folder, { recursive: true, force: true })
  })

  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- looked into by expectations only
  const get = async (url: string): Promise<any> => (await app.inject(url)).json()
  const names = async (url: string): Promise<string[]> =>
    (await get(url)).items.map(({ name }: { name: string }) => name)
  const write = async (method: string, url: string, json: unknown) => {
    const { status, headers, body } = await app.inject({ method, url, json, token })
    return { status, location: headers.location, body: JSON.parse(body) }
  }

  it('has health checks and metrics', async () => {
    const { checks } = await get('/health/ready')
    expect(checks.database).toBe('ok')
    await app.inject('/countries/IS')
    const { body } = await app.inject('/metrics')
    expect(body).toMatch(
      /http_request_duration_seconds_count\{[^}]*route="\/countries\/<[^}]*status="200"\} \d/,
    )
    expect(body).toContain('database_statements_total{table="country",kind="select"}')
  })

  it('is loaded once if many processes start together', async () => {
    for (const each of apps) {
      expect(await each.get(World).statistics()).toEqual({ countries: 5, cities: 10 })
    }
  })

  describe('the records', () => {
    const rows = async (url: string) => (await get(url)) as { name: string }[]

    it('are searched by words of several fields, best match first', async () => {
      expect((await rows('/records/countries?search=ICELAND')).map(({ name }) => name)).toEqual([
        'Iceland',
      ])
      const land = await rows('/records/countries?search=land%20the&fields=name')
      expect(land).toHaveLength(5)
      expect(await rows("/records/countries?search=d'ivoire%20land&fields=code")).toEqual([
        { code: 'CI' },
      ])
      expect(await rows('/records/countries?search=iceland%20denmark')).toEqual([])
      const query = '{ countries(where: { search: "fiji" }) { code } }'
      const answer = await app.inject({ method: 'POST', url: '/graphql', json: { query } })
      expect(answer.json()).toEqual({ data: { countries: [{ code: 'FJ' }] } })
    })

    it('can be aggregated by groups', async () => {
      const url = '/records/countries/aggregate?groupBy=region&count=true&sum=area&orderBy=-count'
      expect((await get(url))[0]).toEqual({ region: 'Europe', count: 2, sumArea: 2000 })
      expect(await get('/records/cities/aggregate?groupBy=countryId&having.count.gte=3')).toEqual([
        { countryId: 1, count: 3 },
        { countryId: 2, count: 3 },
      ])
    })

    it('can be loaded with related rows', async () => {
      const url = '/records/cities?name.startsWith=Reykjav&with=country&fields=name'
      expect(await get(url)).toMatchObject([
        { name: 'Reykjavík', country: { code: 'IS', name: 'Iceland' } },
      ])
      expect(await rows('/records/countries/2?with=cities&fields=name')).toMatchObject({
        name: 'Denmark',
        cities: [{ name: 'Århus' }, { name: '100% Town' }, { name: '100_Town' }],
      })
    })

    it('are read-only', async () => {
      expect((await app.inject({ method: 'DELETE', url: '/records/cities/1', token })).status).toBe(
        405,
      )
    })
  })

  describe('countries', () => {
    it('shows one by its code in upper and lower case, without its key', async () => {
      expect(await get('/countries/is')).toEqual({
        code: 'IS',
        name: 'Iceland',
        officialName: 'The Land of Iceland',
        capital: 'Capital',
        region: 'Europe',
        subregion: 'Northern Europe',
        area: 1000,
        lat: 1,
        lng: 2,
        flag: '⚑',
      })
      expect((await get('/countries/AQ')).capital).toBeNull()
    })

    it.each([
      [
        'all, as they were loaded',
        '',
        ['Iceland', 'Denmark', 'Fiji', 'Antarctica', "Côte d'Ivoire"],
      ],
      ['a region in upper and lower case', '?region=EUROPE', ['Iceland', 'Denmark']],
      ['those whose name holds a text', '?q=I&region=europe', ['Iceland']],
      ['letters beyond ASCII in either case', '?q=CÔTE', ["Côte d'Ivoire"]],
      ['none for a wildcard', '?q=%25', []],
      ['none for part of a region', '?region=Euro', []],
    ])('lists %s', async (_case, query, expected) => {
      expect(await names(`/countries${query}`)).toEqual(expected)
    })

    it('pages the list, with the total count', async () => {
      const page = await get('/countries?limit=2&offset=1')
      expect(page).toMatchObject({ total: 5, limit: 2, offset: 1 })
      expect(page.items).toHaveLength(2)
      expect(await get('/countries?offset=7')).toEqual({
        items: [],
        total: 5,
        limit: 20,
        offset: 7,
      })
    })

    it('lists the cities of one', async () => {
      const page = await get('/countries/is/cities?limit=1')
      expect(page).toEqual({ items: [reykjavik], total: 3, limit: 1, offset: 0 })
    })

    it.each(['/countries/XX', '/countries/XX/cities', '/countries/XX/picture'])(
      'answers 404 for %s',
      async (url) => {
        expect((await app.inject(url)).status).toBe(404)
      },
    )
  })

  describe('the search for cities', () => {
    it.each([
      ['part of a name', 'q=kjav', ['Reykjavík']],
      ['no accents and other case', 'q=REYKJA', ['Reykjavík', 'Reykjanesbær']],
      ['accents where the name has none', 'q=tówn', ['100% Town', '100_Town']],
      ['a country in lower case', 'q=aa&country=is', []],
      ['a country', 'q=arhus&country=DK', ['Århus']],
      ['an unknown country', 'q=arhus&country=XX', []],
      ['a percent sign as itself', 'q=0%25', ['100% Town']],
      ['an underscore as itself', 'q=0_', ['100_Town']],
      ['a backslash as itself', 'q=%5C%5C', []],
      ['quotes of SQL as themselves', "q=';--", []],
    ])('takes %s', async (_case, query, expected) => {
      expect(await names(`/cities?${query}`)).toEqual(expected)
    })

    it('pages the list, with the total count', async () => {
      const first = await get('/cities?q=town&limit=1')
      expect(first).toMatchObject({ total: 2, limit: 1, offset: 0, items: [{ id: 5 }] })
      const second = await get('/cities?q=town&limit=1&offset=1')
      expect(second).toMatchObject({ total: 2, items: [{ id: 6 }] })
      expect(await get('/cities?q=town&offset=2')).toMatchObject({ total: 2, items: [] })
    })

    it.each([
      ['no text', '', 'q'],
      ['one letter', 'q=a', 'q'],
      ['a NUL', 'q=a%00', 'q'],
      ['endless text', `q=${'a'.repeat(121)}`, 'q'],
      ['a limit over 100', 'q=aa&limit=101', 'limit'],
      ['a negative offset', 'q=aa&offset=-1', 'offset'],
      ['no country code', 'q=aa&country=Iceland', 'country'],
    ])('refuses %s', async (_case, query, path) => {
      const answer = await app.inject(`/cities?${query}`)
      expect(answer.status).toBe(400)
      expect(answer.json()).toMatchObject({ errors: [{ path }] })
    })
  })

  describe('one city', () => {
    it('is shown by its id', async () => {
      expect(await get('/cities/1')).toEqual(reykjavik)
    })

    it.each([['0'], ['-1'], ['999'], ['9007199254740991'], ['one']])(
      'is 404 for %s',
      async (id) => {
        expect((await app.inject(`/cities/${id}`)).status).toBe(404)
      },
    )
  })

  describe('cities near a point', () => {
    it('have their distance, the nearest first', async () => {
      expect(await get('/cities/near/64.14/-21.9?radius=40')).toEqual({
        items: [
          { ...reykjavik, distance: 0.5 },
          { id: 2, name: 'Kópavogur', lat: 64.11234, lng: -21.91298, country: 'IS', distance: 3.1 },
          expect.objectContaining({ id: 3, distance: 35.8 }),
        ],
        total: 3,
        limit: 20,
        offset: 0,
      })
    })

    it('are within the radius, by default 50 km', async () => {
      expect(await get('/cities/near/64.14/-21.9?radius=3.1')).toMatchObject({ total: 2 })
      expect(await get('/cities/near/64.14/-21.9?radius=3')).toMatchObject({ total: 1 })
      expect(await get('/cities/near/64.14/-21.9')).toMatchObject({ total: 3 })
    })

    it('are paged', async () => {
      const page = await get('/cities/near/64.14/-21.9?limit=1&offset=1')
      expect(page).toMatchObject({ total: 3, limit: 1, offset: 1, items: [{ id: 2 }] })
    })

    it.each([
      [
        'across the date line from the west',
        '-16.8/179.99',
        ['West of the Line', 'East of the Line'],
      ],
      [
        'across the date line from the east',
        '-16.8/-179.99',
        ['East of the Line', 'West of the Line'],
      ],
      ['around the pole', '-90/90', ['Pole Station', 'Across the Pole']],
    ])('are found %s', async (_case, point, expected) => {
      expect(await names(`/cities/near/${point}`)).toEqual(expected)
    })

    it.each([
      ['91/0', 400],
      ['0/-181', 400],
      ['0/0?radius=501', 400],
      ['0/0?radius=0', 400],
      ['north/0', 404],
    ])('answer %s with %i', async (point, status) => {
      expect((await app.inject(`/cities/near/${point}`)).status).toBe(status)
    })
  })

  describe('writing cities', () => {
    const nyborg = { name: 'Nýborg', lat: 64.2, lng: -21.7, country: 'IS' }

    it('needs a token', async () => {
      expect((await app.inject({ url: '/cities', json: nyborg })).status).toBe(401)
      const change = { method: 'PATCH', url: '/cities/1', json: { name: 'Vík' } }
      expect((await app.inject(change)).status).toBe(401)
      expect(await get('/cities/1')).toEqual(reykjavik)
    })

    it('adds a city, which is then found', async () => {
      const { status, location, body } = await write('POST', '/cities', nyborg)
      expect({ status, location, body }).toEqual({
        status: 201,
        location: '/cities/11',
        body: { id: 11, ...nyborg },
      })
      expect(await get(location ?? '')).toEqual(body)
      expect(await names('/cities?q=nyborg')).toEqual(['Nýborg'])
      expect(await names('/cities/near/64.2/-21.7?radius=1')).toEqual(['Nýborg'])
    })

    it('changes only the named fields', async () => {
      expect(await write('PATCH', '/cities/4', { name: 'Smilets By' })).toMatchObject({
        status: 200,
        body: { id: 4, name: 'Smilets By', lat: 56.15674, lng: 10.21076, country: 'DK' },
      })
      expect(await names('/cities?q=århus')).toEqual([])
      expect(await names('/cities?q=smilets')).toEqual(['Smilets By'])
      const moved = { lat: 0.5, lng: 0.25, country: 'FJ' }
      expect((await write('PATCH', '/cities/4', moved)).body).toEqual({
        id: 4,
        name: 'Smilets By',
        ...moved,
      })
      expect(await names('/cities/near/0.5/0.25?radius=1')).toEqual(['Smilets By'])
      expect((await write('PATCH', '/cities/4', {})).body).toMatchObject({
        name: 'Smilets By',
        lat: 0.5,
      })
    })

    it('a change of an unknown city is 404', async () => {
      expect(await write('PATCH', '/cities/999', { name: 'Vík' })).toMatchObject({ status: 404 })
    })

    it.each([
      ['an empty name', { name: '' }, ['name']],
      ['a name over 120', { name: 'a'.repeat(121) }, ['name']],
      ['a name with a NUL', { name: 'a\0b' }, ['name']],
      ['text for a number', { lat: '64' }, ['lat']],
      ['a latitude over 90', { lat: 90.1, lng: -181 }, ['lat', 'lng']],
      ['null', { name: null }, ['name']],
      ['an id', { id: 7 }, ['id']],
      ['hidden and unknown keys', { searchable: 'x', countryId: 1 }, ['searchable', 'countryId']],
    ])('refuses %s, new and in changes', async (_case, wrong, paths) => {
      const { body: created, status } = await write('POST', '/cities', { ...nyborg, ...wrong })
      const { body: changed, status: secondStatus } = await write('PATCH', '/cities/1', wrong)
      expect([status, secondStatus]).toEqual([400, 400])
      expect(created.errors.map(({ path }: { path: string }) => path)).toEqual(paths)
      expect(changed.errors.map(({ path }: { path: string }) => path)).toEqual(paths)
    })

    it('reports all errors in one response', async () => {
      const wrong = { name: '', lat: '64', country: 'IS', mayor: 'x' }
      expect((await write('POST', '/cities', wrong)).body.error).toBe(
        'name must have at least 1 character; lat must be a number; lng is required; mayor is unknown',
      )
    })

    it('refuses an unknown country', async () => {
      const refusal = {
        status: 400,
        body: { error: 'There is no country XX.', code: 'BAD_REQUEST' },
      }
      expect(await write('POST', '/cities', { ...nyborg, country: 'XX' })).toMatchObject(refusal)
      expect(await write('PATCH', '/cities/1', { country: 'XX' })).toMatchObject(refusal)
      expect(await get('/cities/1')).toEqual(reykjavik)
    })

    it('finds a city that was written without the REST routes', async () => {
      const cities = app.get(Database).records(City)
      const { id } = await cities.create({ name: 'Göteborg', lat: 1, lng: 1, countryId: 2 })
      while ((await cities.find(id))?.searchable === undefined) await setImmediate()
      expect(await names('/cities?q=goteborg')).toEqual(['Göteborg'])
    })
  })

  describe('pictures', () => {
    const url = '/countries/is/picture'
    const put = (multipart: Record<string, string | Blob>, to = url) =>
      app.inject({ method: 'PUT', url: to, multipart, token })

    it('are uploaded with a token and public to read, one per country', async () => {
      const none = await app.inject(url)
      expect([none.status, none.json()]).toEqual([
        404,
        { error: 'IS has no picture yet.', code: 'NOT_FOUND' },
      ])
      expect((await app.inject({ method: 'PUT', url, multipart: { picture: png } })).status).toBe(
        401,
      )
      const uploaded = await put({ picture: png })
      expect([uploaded.status, uploaded.json()]).toEqual([
        201,
        { country: 'IS', type: 'image/png', size: 8 },
      ])
      const picture = await app.inject(url)
      expect([picture.status, picture.headers['content-type']]).toEqual([200, 'image/png'])
      expect([...picture.bytes]).toEqual([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
      const headers = { 'if-none-match': picture.headers.etag ?? '' }
      expect((await app.inject({ url, headers })).status).toBe(304)
    })

    it('replace the previous one, by their type and not their name', async () => {
      await put({ picture: png })
      expect((await put({ picture: webp })).status).toBe(201)
      const picture = await app.inject(url)
      expect(picture.headers['content-type']).toBe('image/webp')
      expect(readdirSync(join(folder, 'pictures'))).toEqual([expect.stringMatching(/\.webp$/)])
    })

    it.each([
      ['another type', { picture: text }, 415],
      ['another name', { flag: png }, 400],
      ['text in place of a file', { picture: 'x' }, 400],
    ])('refuses %s and keeps the old one', async (_case, multipart, status) => {
      await put({ picture: webp })
      expect((await put(multipart as Record<string, string | Blob>)).status).toBe(status)
      expect((await app.inject(url)).headers['content-type']).toBe('image/webp')
    })

    it('belong to a country', async () => {
      expect((await put({ picture: png }, '/countries/XX/picture')).status).toBe(404)
    })
  })

  describe('users', () => {
    const login = (name: string, password: string) =>
      app.inject({ url: '/login', json: { name, password } })

    it('log in with name and password and get a token', async () => {
      const answer = await login('ada', 'analytical')
      expect([answer.status, answer.json()]).toEqual([200, { name: 'ada', roles: ['admin'] }])
      const me = await app.inject({ url: '/me', token: await logIn(app, 'ada', 'analytical') })
      expect(me.json()).toEqual({ name: 'ada', roles: ['admin'] })
      expect((await app.inject('/me')).status).toBe(401)
    })

    it.each([
      ['ada', 'wrong', 401],
      ['nobody', 'analytical', 401],
      ['', '', 401],
      ["' or 1=1 --", 'x', 401],
      ['ada\0', 'analytical', 400],
      ['a'.repeat(81), 'x', 400],
    ])('%j with %j: %i', async (name, password, status) => {
      const answer = await login(name, password)
      expect(answer.status).toBe(status)
      expect(answer.headers.freshtoken).toBeUndefined()
    })

    it('can read the statistics only as administrators', async () => {
      const url = '/admin/statistics'
      expect((await app.inject(url)).status).toBe(401)
      expect((await app.inject({ url, token })).status).toBe(403)
      const admin = await logIn(app, 'ada', 'analytical')
      const cities = await app.get(Database).records(City).count()
      expect((await app.inject({ url, token: admin })).json()).toEqual({ countries: 5, cities })
    })

    it('can use /admin only as administrators', async () => {
      const page = await app.inject('/admin')
      expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
      const url = '/admin/api/schema'
      expect((await app.inject(url)).status).toBe(401)
      expect((await app.inject({ url, token })).status).toBe(403)
      const admin = await logIn(app, 'ada', 'analytical')
      const { records } = (await app.inject({ url, token: admin })).json() as {
        records: { name: string; title: string; can?: string }[]
      }
      expect(records.map(({ name, title, can }) => [name, title, can])).toEqual([
        ['Country', 'name', 'cud'],
        ['City', 'name', 'cud'],
        ['Picture', 'file', undefined],
        ['User', 'name', 'cud'],
      ])
      expect(JSON.stringify(records)).not.toMatch(/passwordHash|searchable/)
    })
  })
})
