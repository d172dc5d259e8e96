/** Decorators of controllers and GraphQL endpoints restrict a record further, and never open it. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  Auth,
  bootstrap,
  connect,
  Controller,
  Field,
  GraphQL,
  Module,
  NoAuth,
  Record,
  Secured,
  type Application,
  type Database,
  type OpenApiDocument,
} from 'filigree'

@Record({ writes: 'admin' })
class Notice {
  @Field('id') id!: number
  @Field('string') text!: string
}
@Record
@Secured({ roles: ['admin', 'audit'] })
class Vault {
  @Field('id') id!: number
  @Field('string') word!: string
}
@Record
@NoAuth
class Wish {
  @Field('id') id!: number
  @Field('string') text!: string
}

@Controller('/notices', { crud: Notice })
@Secured
class Notices {}
@Controller('/open-notices', { crud: Notice })
@NoAuth
class OpenNotices {}
@Controller('/vaults', { crud: Vault, only: ['list', 'create'] })
@Secured('staff', 'night')
class Vaults {}
@Controller('/v2/vaults', { crud: Vault, version: '2', only: ['find'] })
@Secured('staff')
class VersionedVaults {}
@Controller('/wishes', { crud: Wish })
@Secured('staff')
class Wishes {}

@Module({ controllers: [Wishes] })
class Outer {}

const staffed = new GraphQL()
staffed.schema.fromOrm(Notice).fromOrm(Vault).fromOrm(Wish)
staffed.schema.addQuery('hello', { type: 'String', noAuth: true, resolve: () => 'hello' })
staffed.registerRoute('/staff', { secured: 'staff' })
staffed.registerRoute('/everybody', { noAuth: true })

@Module({
  imports: [Outer],
  controllers: [Notices, OpenNotices, Vaults, VersionedVaults],
  records: [Notice, Vault, Wish],
  graphql: [staffed],
})
class Office {}

describe('access rules of controllers and endpoints', () => {
  let app: Application
  let database: Database
  const warnings: string[] = []
  const tokens = new Map<string, string>()

  beforeAll(async () => {
    const silent = (): void => undefined
    const warn = (_details: object, message: string): void => {
      warnings.push(message)
    }
    database = await connect('sqlite::memory:', { records: [Notice, Vault, Wish] })
    await database.sync()
    app = await bootstrap(Office, {
      database,
      port: 0,
      host: '127.0.0.1',
      logger: { error: silent, warn, info: silent, debug: silent },
      versions: { by: 'header' },
    })
    for (const roles of ['', 'admin', 'staff', 'staff admin', 'night audit'])
      tokens.set(
        roles,
        await app.get(Auth).getToken({ sub: roles, roles: roles.split(' ').filter(Boolean) }),
      )
  })
  afterAll(async () => {
    await app.close()
    await database.close()
  })

  const statusOf = async (
    callerRoles: string | undefined,
    url: string,
    json?: object,
  ): Promise<number> => {
    const token = callerRoles === undefined ? undefined : tokens.get(callerRoles)
    const headers: { [name: string]: string } =
      token === undefined ? {} : { authorization: `Bearer ${token}` }
    const method = json === undefined ? 'GET' : 'POST'
    return (await app.inject({ method, url, headers, json })).status
  }

  it.each([
    ['@Secured does not open a write for admins', '/notices', { text: 'a' }, [401, 403, 201, 403]],
    ['@NoAuth does not open it either', '/open-notices', { text: 'a' }, [401, 403, 201, 403]],
    [
      '@NoAuth opens operations without a rule of the record',
      '/open-notices',
      undefined,
      [200, 200, 200, 200],
    ],
    ['@Secured restricts a public record', '/notices', undefined, [401, 200, 200, 200]],
    ['both lists of roles are required', '/vaults', undefined, [401, 403, 403, 403, 200, 200]],
    [
      'both lists of roles are required for a write too',
      '/vaults',
      { word: 'a' },
      [401, 403, 403, 403, 201, 201],
    ],
    [
      '@NoAuth of a record does not open a secured controller',
      '/wishes',
      undefined,
      [401, 403, 403, 200, 200, 403],
    ],
  ])('%s', async (_what, url, json, expected) => {
    const callers = [undefined, '', 'admin', 'staff', 'staff admin', 'night audit']
    const got: number[] = []
    for (const caller of callers.slice(0, expected.length))
      got.push(await statusOf(caller, url, json))
    expect(got).toEqual(expected)
  })

  it('the role of an endpoint is required in addition to the rules of records', async () => {
    const create = { query: 'mutation { createNotice(input: { text: "a" }) { id } }' }
    const vaults = { query: '{ vaults { id } }' }
    const wishes = { query: '{ wishs { id } }' }
    expect(await statusOf('admin', '/staff', create)).toBe(403)
    expect(await statusOf('staff', '/staff', create)).toBe(403)
    expect(await statusOf('staff admin', '/staff', create)).toBe(200)
    expect(await statusOf('admin', '/staff', vaults)).toBe(403)
    expect(await statusOf('staff admin', '/staff', vaults)).toBe(200)
    expect(await statusOf(undefined, '/staff', wishes)).toBe(401)
    expect(await statusOf('staff', '/staff', wishes)).toBe(200)
  })

  it('a custom query with noAuth stays public there', async () => {
    expect(await statusOf(undefined, '/staff', { query: '{ hello }' })).toBe(200)
  })

  it('an endpoint with noAuth opens no record', async () => {
    const create = { query: 'mutation { createNotice(input: { text: "a" }) { id } }' }
    expect(await statusOf(undefined, '/everybody', create)).toBe(401)
    expect(await statusOf('staff', '/everybody', create)).toBe(403)
    expect(await statusOf(undefined, '/everybody', { query: '{ vaults { id } }' })).toBe(401)
  })

  it('the OpenAPI document lists all required roles', async () => {
    const { paths = {} } = JSON.parse(
      (await app.inject('/swagger/openapi.json')).body,
    ) as OpenApiDocument
    const admin = [{ bearerAuth: ['admin'] }]
    expect(paths['/notices']?.post?.security).toEqual(admin)
    expect(paths['/notices']?.get?.security).toEqual([{ bearerAuth: [] }])
    expect(paths['/open-notices']?.post?.security).toEqual(admin)
    expect(paths['/open-notices']?.post?.responses).toHaveProperty('403')
    expect(paths['/vaults']?.get?.security).toEqual([
      { bearerAuth: ['staff', 'admin'] },
      { bearerAuth: ['staff', 'audit'] },
      { bearerAuth: ['night', 'admin'] },
      { bearerAuth: ['night', 'audit'] },
    ])
  })

  it('app.routes lists all required roles', () => {
    const vaults = app.routes.filter(({ path }) => path === '/vaults')
    expect(vaults.map(({ roles }) => roles)).toEqual(
      vaults.map(() => ['staff', 'night', 'admin', 'audit']),
    )
  })

  it('the start warns of a @NoAuth without effect', () => {
    expect(warnings.filter((line) => line.includes('NoAuth'))).toEqual([
      'OpenNotices is @NoAuth, but Notice has an access rule of its own, so these routes still need a token: ' +
        'POST /open-notices, PATCH /open-notices/<id:int>, PUT /open-notices/<id:int>, DELETE /open-notices/<id:int>. ' +
        'Remove @NoAuth from OpenNotices, or change @Secured or writes of Notice.',
    ])
  })
})
