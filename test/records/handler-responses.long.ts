import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  type Application,
  Auth,
  bootstrap,
  connect,
  Controller,
  type Database,
  events,
  Field,
  type Generated,
  Get,
  type HttpRequest,
  Module,
  NoAuth,
  Post,
  Record,
  reply,
  Secured,
} from 'filigree'
import { CacheFor } from 'filigree/cache'
import { startBothEngines } from './both-engines.js'

class Desk {
  @Field('string') room!: string
  @Secured('admin')
  @Field('string', { optional: true })
  code?: string
}

@Record
class Clerk {
  @Field('id') id!: number
  @Field('string') name!: string
  @Secured('admin')
  @Field('integer')
  salary!: number
  @Secured(async (claims) => Promise.resolve(claims === null || claims.sub === 'ann'))
  @Field('integer')
  bonus!: number
  @Field('string', { hidden: true, default: 'shh' }) secret!: Generated<string>
}

@Record
class Street {
  @Field('id') id!: number
  @Field('string') name!: string
}

class Office {
  @Field(Clerk) chief!: Clerk
  @Field(() => Clerk, { list: true }) clerks!: Clerk[]
  @Field(Desk) desk!: Desk
}

let database: Database

const clerk = async (): Promise<Clerk> => (await database.records(Clerk).find(1)) as Clerk
const cached: { clerk?: Clerk } = {}

@Controller('/clerks')
class ClerkController {
  @Get('/one', { returns: Clerk }) one() {
    return clerk()
  }
  @Get('/replied', { returns: { 201: Clerk } }) async replied() {
    return reply(await clerk(), 201).header('X-Seen', '1')
  }
  @Get('/list', { returns: [Clerk] }) list() {
    return database.records(Clerk).list()
  }
  @Get('/plain', { returns: Clerk }) plain() {
    return { id: 1, name: 'Ada', salary: 5000, bonus: 7, secret: 'x' }
  }
  @Get('/office', { returns: Office }) async office() {
    const chief = await clerk()
    return { chief, clerks: [chief], desk: { room: 'r', code: 'c' } }
  }
  @Get('/cached', { returns: Clerk }) async cached() {
    return (cached.clerk ??= await clerk())
  }
  @Get('/instance') instance() {
    return clerk()
  }
  @Get('/around') async around() {
    return { chief: await clerk(), more: [await clerk()] }
  }
  @Get('/secured') @Secured secured() {
    return clerk()
  }
  @Get('/with-user') withUser(user: unknown) {
    return user === undefined ? null : clerk()
  }
  @Get('/events') @Secured async stream() {
    return events([{ data: await clerk() }])
  }
  @Get('/text') async text() {
    return JSON.stringify(await clerk())
  }
  @Post('/', { returns: Clerk }) @NoAuth open() {
    return clerk()
  }
}

@Controller('/streets')
class StreetController {
  @Get('/one', { returns: Street }) one(request: HttpRequest) {
    return { id: 1, name: String(request.user === null) }
  }
}

@Module({ records: [Clerk, Street], controllers: [ClerkController, StreetController] })
class World {}

for (const [name, url] of await startBothEngines()) {
  describe(`${name}: records returned by handlers`, () => {
    let app: Application
    const tokens: { [role: string]: string } = {}
    beforeEach(async () => {
      delete cached.clerk
      database = await connect(await url(), { records: [Clerk, Street] })
      await database.sync()
      await database.records(Clerk).create({ name: 'Ada', salary: 5000, bonus: 7 })
      app = await bootstrap(World, { database, listen: false, logger: false, env: {} })
      tokens.admin = await app.get(Auth).getToken({ sub: 'root', roles: ['admin'] })
      tokens.ann = await app.get(Auth).getToken({ sub: 'ann' })
    })
    afterEach(async () => {
      await app.close()
      await database.close()
    })
    const get = async (path: string, role?: string) => {
      const token = role === undefined ? undefined : tokens[role]
      const { status, body } = await app.inject({ url: `/clerks${path}`, token })
      return { status, value: body === '' ? undefined : (JSON.parse(body) as unknown) }
    }
    const plain = { id: 1, name: 'Ada' }
    const forAdmin = { ...plain, salary: 5000 }
    const forAnn = { ...plain, bonus: 7 }

    it.each(['/one', '/plain', '/cached'])(
      'GET %s returns the fields the caller may read',
      async (path) => {
        // Twice: hiding a field from one caller must not remove it for the next.
        for (let attempt = 0; attempt < 2; attempt++) {
          expect((await get(path)).value).toEqual(plain)
          expect((await get(path, 'admin')).value).toEqual(forAdmin)
          expect((await get(path, 'ann')).value).toEqual(forAnn)
        }
      },
    )

    it('filters fields in lists, replies and nested classes', async () => {
      expect((await get('/list')).value).toEqual([plain])
      expect((await get('/list', 'admin')).value).toEqual([forAdmin])
      expect(await get('/replied', 'ann')).toEqual({ status: 201, value: forAnn })
      const office = (one: object, desk: object) => ({ chief: one, clerks: [one], desk })
      expect((await get('/office')).value).toEqual(office(plain, { room: 'r' }))
      expect((await get('/office', 'admin')).value).toEqual(
        office(forAdmin, { room: 'r', code: 'c' }),
      )
    })

    it('rejects a bad token only where the response depends on the caller', async () => {
      tokens.bad = 'no-token'
      expect((await get('/one', 'bad')).status).toBe(401)
      const street = await app.inject({ url: '/streets/one', token: 'no-token' })
      expect([street.status, street.json()]).toEqual([200, { id: 1, name: 'true' }])
      const open = await app.inject({ method: 'POST', url: '/clerks' })
      expect(open.json()).toEqual(plain)
    })

    it('filters instances of records even when the route declares no return type', async () => {
      expect((await get('/instance')).value).toEqual(plain)
      // An open route that does not use its caller never checks the token.
      expect((await get('/instance', 'admin')).value).toEqual(plain)
      expect((await get('/with-user', 'admin')).value).toEqual(forAdmin)
      expect((await get('/secured', 'admin')).value).toEqual(forAdmin)
      // JSON serialization is synchronous, so an asynchronous guard counts as refused.
      expect((await get('/secured', 'ann')).value).toEqual(plain)
      expect((await get('/around')).value).toEqual({ chief: plain, more: [plain] })
    })

    it('filters fields in server-sent events', async () => {
      const read = async (role: string) => {
        const { body } = await app.inject({ url: '/clerks/events', token: tokens[role] })
        return JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? '') as unknown
      }
      expect([await read('ann'), await read('admin')]).toEqual([plain, forAdmin])
    })

    it('filters fields in handwritten GraphQL resolvers', async () => {
      app.graphql.schema.addQuery('chief', { type: 'Clerk', resolve: clerk })
      const query = async (role?: string) => {
        const token = role === undefined ? undefined : tokens[role]
        const json = { query: '{ chief { id name salary bonus } }' }
        const response = await app.inject({ method: 'POST', url: '/graphql', json, token })
        const { data, errors = [] } = response.json() as {
          readonly data: unknown
          readonly errors?: readonly { readonly path: readonly string[] }[]
        }
        return [data, errors.map(({ path }) => path.join('.')).sort()]
      }
      const chief = { id: '1', name: 'Ada', salary: null, bonus: null }
      expect(await query()).toEqual([{ chief }, ['chief.bonus', 'chief.salary']])
      expect(await query('admin')).toEqual([{ chief: { ...chief, salary: 5000 } }, ['chief.bonus']])
      expect(await query('ann')).toEqual([{ chief: { ...chief, bonus: 7 } }, ['chief.salary']])
    })

    it('documents that the route uses a token', async () => {
      const { paths } = (await app.inject({ url: '/swagger/openapi.json' })).json() as {
        readonly paths: {
          readonly [path: string]: { readonly get: { readonly security?: unknown } }
        }
      }
      const securityOf = (path: string): unknown => paths[path]?.get.security
      expect(securityOf('/clerks/one')).toEqual(securityOf('/clerks/with-user'))
      expect(securityOf('/clerks/one')).not.toEqual(securityOf('/streets/one'))
    })

    it('shows the program every field except hidden ones', async () => {
      expect((await get('/text')).value).toEqual({ ...forAdmin, bonus: 7 })
      expect(JSON.parse(JSON.stringify(await clerk()))).toEqual({ ...forAdmin, bonus: 7 })
    })
  })
}

it('refuses to cache a response with secured fields for all callers', async () => {
  @Controller('/cached')
  class CachedClerk {
    @Get('/', { returns: Clerk }) @CacheFor('60s') one() {
      return { id: 1, name: 'Ada', salary: 1, bonus: 1 }
    }
  }
  @Module({ records: [Clerk], controllers: [CachedClerk] })
  class CachedModule {}
  await expect(
    bootstrap(CachedModule, { database: 'sqlite::memory:', listen: false, logger: false, env: {} }),
  ).rejects.toThrow(/may depend on the caller/)
})
