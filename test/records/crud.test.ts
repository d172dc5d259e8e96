import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  type Application,
  bootstrap,
  connect,
  type Claims,
  Controller,
  type Database,
  type ControllerOptions,
  type DeclarationError,
  Field,
  type Generated,
  Get,
  Module,
  NoAuth,
  Record,
} from '../../src/index.js'
import { logStatements } from '../graphql/planner/driver-log.js'
import { Category, Product, shop } from './shop.js'

@Record({ rows: (user: Claims | null) => (user === null ? { open: true } : { owner: user.sub }) })
class Note {
  @Field('id') id!: number
  @Field('string') text!: string
  @Field('boolean', { default: false }) open!: Generated<boolean>
  @Field('string', { hidden: true, default: 'nobody' }) owner!: Generated<string>
}

let diaryRows: unknown
@Record({ rows: () => diaryRows as boolean })
class Diary {
  @Field('id') id!: number
  @Field('string') owner!: string
}

let database: Database

@Controller('/products', { crud: Product })
@NoAuth
class Products {
  @Get('/<id:int>/name')
  async name(id: number): Promise<string | undefined> {
    return (await database.records(Product).find(id))?.name
  }
}

@Controller('/gated', { crud: () => Category })
class Gated {}

@Controller('/diaries', { crud: Diary })
@NoAuth
class Diaries {}

@Controller('/notes', { crud: Note })
@NoAuth
class Notes {
  @Get('/')
  list(): string {
    return 'mine'
  }
}

@Module({ controllers: [Products, Gated, Notes, Diaries], records: [...shop, Note, Diary] })
class Shop {}

describe('crud', () => {
  let app: Application

  beforeAll(async () => {
    database = await connect('sqlite::memory:', { records: [...shop, Note, Diary] })
    await database.sync()
    const env = { APP_API_KEY: 'key' }
    app = await bootstrap(Shop, { listen: false, logger: false, env, database })
  })
  afterAll(async () => {
    await app.close()
    await database.close()
  })
  beforeEach(async () => {
    for (const table of ['product', 'category', 'note']) {
      await database.kysely.deleteFrom(table).execute()
    }
    await database.records(Category).create({ id: 1, name: 'Light' })
  })

  const lamp = { name: 'Lamp', price: 9, categoryId: 1 }
  it('has no configuration problems', () => {
    expect(app.routes.map(({ path }) => path)).toContain('/products')
  })

  const post = async (json: object): Promise<{ id: number }> =>
    (await app.inject({ method: 'POST', url: '/products', json })).json() as { id: number }

  it('creates, finds, updates, replaces and deletes', async () => {
    const created = await app.inject({ method: 'POST', url: '/products', json: lamp })
    expect(created.status).toBe(201)
    const { id } = created.json() as { id: number }
    expect(created.headers.location).toBe(`/products/${id}`)
    const url = `/products/${id}`
    expect((await app.inject({ url })).json()).toMatchObject({ ...lamp, id })
    const patched = await app.inject({ method: 'PATCH', url, json: { price: 12 } })
    expect(patched.json()).toMatchObject({ ...lamp, price: 12 })
    const put = await app.inject({ method: 'PUT', url, json: { ...lamp, name: 'L' } })
    expect(put.json()).toMatchObject({ name: 'L', price: 9 })
    expect((await app.inject({ url: `${url}/name` })).body).toBe('L')
    expect((await app.inject({ method: 'DELETE', url })).status).toBe(204)
    expect((await app.inject({ method: 'DELETE', url })).status).toBe(404)
    expect((await app.inject({ url })).status).toBe(404)
    expect((await app.inject({ method: 'PATCH', url, json: {} })).status).toBe(404)
  })

  it('sends one statement for each write', async () => {
    const { id } = await post(lamp)
    const url = `/products/${id}`
    const { result, sent } = await logStatements(async () => [
      await app.inject({ method: 'POST', url: '/products', json: lamp }),
      await app.inject({ method: 'PATCH', url, json: { price: 12 } }),
      await app.inject({ method: 'PUT', url, json: lamp }),
      await app.inject({ method: 'DELETE', url }),
    ])
    expect(result.map(({ status }) => status)).toEqual([201, 200, 200, 204])
    const verbs = sent.map(({ sql }) => sql.split(' ')[0])
    expect(verbs).toEqual(['insert', 'update', 'update', 'delete'])
  })

  it.each([
    [{ name: 'x' }, 'categoryId required'],
    [{ ...lamp, price: -1 }, 'price min'],
    [{ ...lamp, id: 5 }, 'id unknown'],
    [{ ...lamp, secret: 's' }, 'secret unknown'],
    [{ ...lamp, createdAt: '2026-01-01' }, 'createdAt unknown'],
    [{ ...lamp, category: { name: 'x' } }, 'category unknown'],
  ])('refuses %j with 400', async (json, expected) => {
    const response = await app.inject({ method: 'POST', url: '/products', json })
    expect(response.status).toBe(400)
    const { errors } = response.json() as { errors: { path: string; code: string }[] }
    expect(errors.map(({ path, code }) => `${path} ${code}`)).toContain(expected)
  })

  it('responds with 409 to a missing reference', async () => {
    const json = { ...lamp, categoryId: 9 }
    const response = await app.inject({ method: 'POST', url: '/products', json })
    expect(response.status).toBe(409)
    expect(response.json()).toMatchObject({
      error: 'categoryId names no Category: 9 does not exist',
    })
  })

  it('never sends hidden fields', async () => {
    const { id } = await post(lamp)
    await database.records(Product).update(id, { secret: 'psst' })
    expect((await app.inject({ url: '/products' })).body).not.toContain('psst')
  })

  describe('the list', () => {
    beforeEach(async () => {
      for (const [name, price, stock] of [
        ['Lamp', 5, 1],
        ['Lantern', 10, null],
        ['a,b', 20, 3],
      ] as const) {
        await database.records(Product).create({ ...lamp, name, price, stock })
      }
    })

    it.each([
      ['', 'Lamp Lantern a,b', '3'],
      ['?limit=1', 'Lamp', '3'],
      ['?limit=1&offset=1', 'Lantern', '3'],
      ['?orderBy=-price,name', 'a,b Lantern Lamp', '3'],
      ['?price=5', 'Lamp', '1'],
      ['?price.gte=5&price.lt=20', 'Lamp Lantern', '2'],
      ['?name.like=La%25', 'Lamp Lantern', '2'],
      ['?name=a,b', 'a,b', '1'],
      ['?name.in=Lamp,Lantern', 'Lamp Lantern', '2'],
      ['?name=Lamp&name=a,b', 'Lamp a,b', '2'],
      ['?stock.isNull=true', 'Lantern', '1'],
      ['?active=true', 'Lamp Lantern a,b', '3'],
      ['?category.name=Light&price=10', 'Lantern', '1'],
    ])('returns the matching rows for %p', async (query, expected, total) => {
      const response = await app.inject({ url: `/products${query}` })
      expect(response.status).toBe(200)
      const names = (response.json() as { name: string }[]).map(({ name }) => name)
      expect(names.join(' ')).toBe(expected)
      expect(response.headers['x-total-count']).toBe(total)
    })

    it('exposes the total, the tag and the fresh token to pages of other origins', async () => {
      const { headers } = await app.inject('/products')
      const exposed = String(headers['access-control-expose-headers']).split(', ')
      expect(exposed.sort()).toEqual(['ETag', 'FreshToken', 'X-Total-Count'])
    })

    it.each([
      '?limit=-1',
      '?limit=1001',
      '?limit=1&limit=2',
      '?offset=x',
      '?nope=1',
      '?price=abc',
      '?price=1e5',
      '?price.above=1',
      '?price.gte.lt=1',
      '?secret=psst',
      '?category.products.secret=psst',
      '?category=1',
      '?orderBy=nope',
      '?orderBy=secret',
      '?orderBy=price%20desc;drop%20table%20product',
      '?price=5%20or%201=1',
      '?toString=1',
      '?stock.isNull=1',
      '?name.like=%00',
    ])('refuses %p with 400', async (query) => {
      expect((await app.inject({ url: `/products${query}` })).status).toBe(400)
    })
  })

  it('keeps the default access of routes: reads are open, writes need a token', async () => {
    expect((await app.inject({ url: '/gated' })).status).toBe(200)
    const json = { name: 'Dark' }
    expect((await app.inject({ method: 'POST', url: '/gated', json })).status).toBe(401)
    expect((await app.inject({ method: 'DELETE', url: '/gated/1' })).status).toBe(401)
    const response = await app.inject({ method: 'POST', url: '/gated', json, token: 'key' })
    expect(response.status).toBe(201)
  })

  it('keeps a route that the class declares itself', async () => {
    expect((await app.inject({ url: '/notes' })).body).toBe('mine')
    expect((await app.inject({ url: '/notes/1' })).status).toBe(404)
  })

  it('shows and writes only the rows the caller may access', async () => {
    const notes = database.records(Note)
    const open = await notes.create({ text: 'open', open: true })
    const closed = await notes.create({ text: 'closed' })
    expect((await app.inject({ url: `/notes/${open.id}` })).status).toBe(200)
    const url = `/notes/${closed.id}`
    expect((await app.inject({ url })).status).toBe(404)
    expect((await app.inject({ method: 'DELETE', url })).status).toBe(404)
    const json = { text: 'x' }
    expect((await app.inject({ method: 'PATCH', url, json })).status).toBe(404)
    expect((await app.inject({ method: 'POST', url: '/notes', json })).status).toBe(403)
    const patchOpen = { method: 'PATCH', url: `/notes/${open.id}`, json: { text: 'open' } } as const
    const { result, sent } = await logStatements(() => app.inject(patchOpen))
    expect([result.status, sent.length]).toEqual([200, 1])
    const closeNote = { method: 'PATCH', url: `/notes/${open.id}`, json: { open: false } } as const
    expect((await app.inject(closeNote)).status).toBe(403)
    expect(await notes.list()).toMatchObject([{ text: 'open', open: true }, { text: 'closed' }])
  })

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a filter with an undefined value', { owner: undefined }],
    [
      'a filter with a nested undefined value',
      { or: [{ owner: 'ann' }, { not: { owner: { eq: undefined } } }] },
    ],
  ])('shows and writes no rows when the rows rule returns %s', async (_what, rowsResult) => {
    const diaries = database.records(Diary)
    const { id } = await diaries.create({ owner: 'ann' })
    diaryRows = { owner: 'ann' }
    expect((await app.inject({ url: `/diaries/${id}` })).status).toBe(200)
    diaryRows = rowsResult
    const list = await app.inject({ url: '/diaries' })
    expect([list.json(), list.headers['x-total-count']]).toEqual([[], '0'])
    expect((await app.inject({ url: `/diaries/${id}` })).status).toBe(404)
    expect((await app.inject({ method: 'DELETE', url: `/diaries/${id}` })).status).toBe(404)
    const json = { owner: 'eve' }
    expect((await app.inject({ method: 'POST', url: '/diaries', json })).status).toBe(403)
    expect(await diaries.find(id)).toMatchObject({ owner: 'ann' })
  })

  it('adds only the requested operations, and rejects unknown ones', async () => {
    const start = (options: ControllerOptions) => {
      @Controller('/gated', options)
      class Limited {}
      @Module({ controllers: [Limited], records: [Note] })
      class LimitedModule {}
      const database = 'sqlite::memory:'
      return bootstrap(LimitedModule, { listen: false, logger: false, database })
    }
    const limited = await start({ crud: Note, only: ['list', 'find'] })
    expect(limited.routes.map(({ name }) => name).filter((name) => /^Limited/.test(name))).toEqual([
      'Limited.list',
      'Limited.find',
    ])
    await limited.close()
    const problemsOf = async (options: ControllerOptions): Promise<string[]> => {
      const error = await start(options).catch((reason: unknown) => reason as DeclarationError)
      const { problems } = error as DeclarationError
      return problems.map(({ message, remedy }) => `${message} ${remedy}`)
    }
    expect(await problemsOf({ crud: Note, only: ['lst' as 'list'] })).toEqual([
      'Limited: crud has no operation "lst". Did you mean "list"? Operations: list, aggregate, find, create, update, delete.',
    ])
    expect(await problemsOf({ crud: class Plain {} })).toEqual([
      'Limited: crud names Plain, which no module lists among its records. Add Plain to LimitedModule.records.',
      'Plain is used as a record but has no @Record. Add @Record to the class Plain.',
    ])
  })

  it('reports constructor arguments whose types are unknown', async () => {
    // The test compiler emits types only for classes with decorators, and this class has none.
    class Bare {
      constructor(readonly database: Database) {}
    }
    Controller('/bare', { crud: Note })(Bare)
    @Module({ controllers: [Bare], records: [Note] })
    class BareModule {}
    const options = { listen: false, logger: false, database: 'sqlite::memory:' } as const
    await expect(bootstrap(BareModule, options)).rejects.toThrow(
      'Bare takes 1 argument, whose types the compiler did not emit.',
    )
  })
})
