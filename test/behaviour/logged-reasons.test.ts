/** Source: decisions, Responses. Titles begin with the statement that they check. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  ApplicationState,
  Auth,
  bootstrap,
  Controller,
  Field,
  Get,
  GraphQL,
  HttpError,
  Module,
  NoAuth,
  Post,
  Record as Table,
  Secured,
  type Application,
  type Claims,
  type Generated,
  type HttpRequest,
  type InjectRequest,
  type UploadedFiles,
} from '../../src/index.js'
import { Throttle, throttle } from '../../src/modules/throttle/throttle.js'

@Table({ version: true, rows: (user) => ({ owner: user?.sub ?? '' }) })
@NoAuth
class Task {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string
  @Field('string') owner!: string
  @Secured('boss') @Field('integer', { default: 1 }) pay!: Generated<number>
}

@Table
class Plain {
  @Field('id') id!: number
}

@Controller
class Pages {
  static inject = [ApplicationState]
  constructor(private readonly state: ApplicationState) {}

  @Get('/program') program(request: HttpRequest, user: Claims | null) {
    return this.state.graphql?.execute('{ tasks { id pay } }', {}, { request, user })
  }
  @Get('/closed') @Secured closed() {
    return {}
  }
  @Get('/admin') @Secured('admin', 'root') admin() {
    return {}
  }
  @Get('/guarded') @Secured(() => false) guarded() {
    return {}
  }
  @Post('/files') @NoAuth files(files: UploadedFiles) {
    return Object.keys(files)
  }
  @Post('/small', { limit: '4b' }) @NoAuth small(body: unknown) {
    return body
  }
  @Get('/rare') @Throttle('1/m') rare() {
    return {}
  }
  @Post('/write') write() {
    return {}
  }
  @Get('/custom') custom() {
    throw new HttpError(409, 'It is taken.', { reason: 'the lamp hangs elsewhere' })
  }
  @Get('/slow', { timeout: 20 }) slow() {
    return new Promise(() => undefined)
  }
}

@Controller('/tasks', { crud: Task })
class Tasks {}

@Module({
  controllers: [Pages, Tasks],
  records: [Task, Plain],
  imports: [throttle({ limit: '1000/m' })],
})
class AppModule {}

interface Line {
  readonly level: string
  readonly message: string
  readonly [field: string]: unknown
}
const lines: Line[] = []
const at = (level: string) => (fields: object, message: string) =>
  void lines.push({ ...fields, level, message })
const logger = { error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug') }

let app: Application
let user: string

beforeAll(async () => {
  app = await bootstrap(AppModule, {
    listen: false,
    env: {},
    database: 'sqlite::memory:',
    logger,
    auth: { cookie: true },
  })
  user = await app.get(Auth).getToken({ sub: 'ann', roles: ['clerk'] })
  await app.inject({
    method: 'POST',
    url: '/tasks',
    token: user,
    json: { name: 'a', owner: 'ann' },
  })
  await app.inject({ url: '/rare' })
})
afterAll(() => app.close())
beforeEach(() => {
  lines.length = 0
})

const json = { 'content-type': 'application/json' }

describe('Reasons', () => {
  it.each<[number, string, () => InjectRequest, RegExp]>([
    [401, 'no token', () => ({ url: '/closed' }), /a token is needed/],
    [
      401,
      'another scheme',
      () => ({ url: '/closed', headers: { authorization: 'Basic x' } }),
      /no Bearer/,
    ],
    [401, 'a bad token', () => ({ url: '/closed', token: 'e.e.e' }), /the token was refused: ./],
    [
      403,
      'a wrong role',
      () => ({ url: '/admin', token: user }),
      /role admin or root is needed.*has clerk/,
    ],
    [403, 'a guard', () => ({ url: '/guarded', token: user }), /guard of the route returned false/],
    [
      403,
      'a write by cookie from another site',
      () => ({
        method: 'POST',
        url: '/write',
        headers: { cookie: `app_token=${user}`, 'sec-fetch-site': 'cross-site' },
      }),
      /comes from another origin/,
    ],
    [404, 'no route', () => ({ url: '/nowhere' }), /no route has this path/],
    [404, 'rows', () => ({ url: '/tasks/1' }), /the row does not exist, or `rows` hides it/],
    [
      405,
      'another method',
      () => ({ method: 'DELETE', url: '/closed' }),
      /routes for GET, HEAD, OPTIONS/,
    ],
    [
      409,
      'a conflict',
      () => ({ method: 'POST', url: '/tasks', token: user, json: { name: 'a', owner: 'ann' } }),
      /name/,
    ],
    [409, 'a custom reason', () => ({ url: '/custom' }), /^the lamp hangs elsewhere$/],
    [
      412,
      'an old version',
      () => ({
        method: 'PATCH',
        url: '/tasks/1',
        token: user,
        json: { owner: 'ann' },
        headers: { 'if-match': '"9"' },
      }),
      /./,
    ],
    [
      413,
      'a large body',
      () => ({ method: 'POST', url: '/small', body: '"abcdef"', headers: json }),
      /larger than 4 bytes/,
    ],
    [
      415,
      'a type',
      () => ({ method: 'POST', url: '/files', body: '{}', headers: json }),
      /multipart/,
    ],
    [
      401,
      'an operation of GraphQL without a token',
      () => ({ url: '/graphql', json: { query: 'mutation { deletePlain(id: 1) }' } }),
      /^deletePlain: a token is needed$/,
    ],
    [
      405,
      'a mutation by GET',
      () => ({ url: `/graphql?query=${encodeURIComponent('mutation { deleteTask(id: 1) }')}` }),
      /cannot be run by GET/,
    ],
    [429, 'a limit', () => ({ url: '/rare' }), /GET \/rare.* by ip.* is used up/],
  ])(
    '%i for %s is one debug line, and the response does not show the reason',
    async (status, _what, makeRequest, reason) => {
      const request = makeRequest()
      const headers = { 'x-request-id': 'r-1', ...request.headers }
      const answer = await app.inject({ ...request, headers })
      expect(answer.status).toBe(status)
      const refused = lines.filter(({ message }) => message === 'request refused')
      expect(refused).toHaveLength(1)
      expect(lines).toEqual(refused)
      expect(refused[0]).toMatchObject({ level: 'debug', requestId: 'r-1', status })
      expect(refused[0]?.reason).toMatch(reason)
      if (status < 404 || status === 429) expect(answer.body).not.toMatch(reason)
    },
  )

  it('a timeout is an error line that names the handler', async () => {
    expect((await app.inject({ url: '/slow' })).status).toBe(503)
    expect(lines).toMatchObject([{ level: 'error', path: '/slow', route: 'Pages.slow' }])
  })

  it('a refused GraphQL operation is one line for all of its fields', async () => {
    const many = Array.from(
      { length: 40 },
      (_, index) => `a${index}: createTask(input: { name: "x${index}", owner: "ann" }) { id }`,
    )
    const url = '/graphql'
    const answer = await app.inject({ url, json: { query: `mutation { ${many.join(' ')} }` } })
    expect(answer.status).toBeLessThan(500)
    expect(lines.length).toBeLessThanOrEqual(1)
  })
})

describe('a GraphQL field that is refused', () => {
  const query = '{ tasks { id pay } }'

  it('is logged with the request id, also in live queries', async () => {
    const json = 'application/json'
    for (const accept of [json, 'text/event-stream']) {
      lines.length = 0
      const headers = { accept, 'x-request-id': 'r-3' }
      const body = JSON.stringify({ query: accept === json ? query : `query @live ${query}` })
      const all = { ...headers, 'content-type': json, authorization: `Bearer ${user}` }
      const httpRequest = new Request('http://localhost/graphql', {
        method: 'POST',
        body,
        headers: all,
      })
      const reader = (await app.handle(httpRequest)).body!.getReader()
      await reader.read()
      await reader.cancel()
      // A live query logs it for each run.
      const loggedLines = lines.map(({ message, requestId }) => `${message} ${String(requestId)}`)
      expect([...new Set(loggedLines)]).toEqual(['GraphQL fields refused r-3'])
    }
  })

  it('is logged with the id of the request that a handler passes to execute', async () => {
    lines.length = 0
    await app.inject({ url: '/program', token: user, headers: { 'x-request-id': 'r-4' } })
    expect(lines).toMatchObject([{ message: 'GraphQL fields refused', requestId: 'r-4' }])
  })
})

describe('a GraphQL request that fails', () => {
  it('is one line in the log for all of its fields', async () => {
    const graphql = new GraphQL()
    graphql.schema.addQuery('fail', {
      type: 'String',
      resolve: () => {
        throw new Error('out of lamps')
      },
    })
    graphql.registerRoute()
    @Module({ graphql: [graphql] })
    class BrokenModule {}
    const broken = await bootstrap(BrokenModule, { listen: false, env: {}, logger })
    lines.length = 0
    const fields = Array.from({ length: 20 }, (_, index) => `a${index}: fail`).join(' ')
    const headers = { 'x-request-id': 'r-2' }
    const answer = await broken.inject({
      url: '/graphql',
      json: { query: `{ ${fields} }` },
      headers,
    })
    expect((answer.json() as { errors: unknown[] }).errors).toHaveLength(20)
    expect(lines).toMatchObject([
      {
        level: 'error',
        message: 'a GraphQL resolver failed',
        fields: 20,
        path: 'a0',
        requestId: 'r-2',
      },
    ])
    await broken.close()
  })
})
