/** The development page `/__filigree`: what it records, whom it answers, and how it is in a real browser. */
import { readdirSync, readFileSync } from 'node:fs'
import { once } from 'node:events'
import { request as send } from 'node:http'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  bootstrap,
  Controller,
  Database,
  Field,
  Get,
  HasMany,
  Module,
  NoAuth,
  pendingWork,
  Post,
  Record,
  Secured,
  type Application,
  type Rel,
} from 'filigree'
import { Job, Jobs, jobs } from 'filigree/jobs'
import { mail, Mailer } from 'filigree/mail'
import { findProblems } from '../browser/accessibility.js'
import { withPage } from '../browser/open-page.js'
import { root } from '../openapi/command.js'
import { startMonitoring, stopMonitoring, withoutMonitoring } from './development-monitor.js'

@Record
class Shelf {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('string', { hidden: true, optional: true }) note?: string
  @HasMany(() => Book) books!: Rel<Book[]>
}
@Record({ writes: 'librarian', rows: (user) => user !== null })
@Secured
class Book {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('integer') shelfId!: number
  @BelongsTo(() => Shelf) shelf!: Rel<Shelf>
}

class Credentials {
  @Field('string', { example: 'ann' }) name!: string
  @Field('string') password!: string
  @Field('string', { hidden: true, optional: true }) shade?: string
}

class Work {
  failures = 1
  @Job({ retries: 0 }) once(): void {
    if (this.failures-- > 0) throw new Error('The other side is away.')
  }
}

class Post_ {
  [pendingWork]() {
    return [{ name: 'Mail.welcome', state: 'waiting', at: '2026-11-22T00:00:00.000Z' }]
  }
}

@Controller('/shelves', { crud: Shelf })
class ShelfController {
  static inject = [Database]
  constructor(private readonly database: Database) {}

  @Get('/slow') async slow() {
    for (const { id } of await this.database.records(Shelf).list({ limit: 10 }))
      await this.database.records(Book).list({ where: { shelfId: id } })
    return []
  }

  @Get('/sorted') async sorted() {
    return await this.database.records(Shelf).list({ orderBy: { name: 'asc' } })
  }

  @Get('/broken') broken(): string {
    throw new Error('The lamp is broken, token: "abc"')
  }

  @Post('/login', { body: Credentials }) @NoAuth login(body: Credentials, request: { log: Log }) {
    request.log.info({ password: body.password, name: body.name }, 'signing in')
    return { name: body.name }
  }
}
interface Log {
  info(details: object, message: string): void
}

@Module({
  controllers: [ShelfController],
  providers: [Work, { provide: 'jobs', make: () => new Post_() }],
  records: [Shelf, Book],
  imports: [jobs(), mail({ from: 'library@library.example' })],
})
class LibraryModule {}

let app: Application
const reportedRequests: object[] = []
const secret = 'secret-of-the-page'
const monitor = startMonitoring(secret, {
  request: (request) => reportedRequests.push(request),
})
const silent = { error: ignore, warn: ignore, info: ignore, debug: ignore }

beforeAll(async () => {
  const options = { port: 0, database: 'sqlite::memory:', logger: silent, basePath: '/api' }
  app = await bootstrap(LibraryModule, { ...options, env: { NODE_ENV: 'development' } })
  const shelves = app.get(Database).records(Shelf)
  for (const name of ['a', 'b', 'c', 'd']) await shelves.create({ name })
})
afterAll(async () => {
  stopMonitoring(monitor)
  await app.close()
})
beforeEach(() => {
  monitor.recorder.clear()
})

/** As a program asks that may write any header. */
function raw(
  path: string,
  headers: object = {},
  host = '127.0.0.1',
  port = portOf(app),
  body?: string,
) {
  // Only the test knows what an answer is.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  return new Promise<{ status: number; body: any }>((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST'
    const cookie = `filigree-dev-${port}=${secret}`
    const request = send(
      { host, port, path, method, headers: { cookie, ...headers } },
      (answer) => {
        let text = ''
        answer.on('data', (data) => (text += String(data)))
        answer.on('end', () => {
          const isJson = String(answer.headers['content-type']).startsWith('application/json')
          resolve({ status: answer.statusCode ?? 0, body: isJson ? JSON.parse(text) : text })
        })
      },
    )
    request.on('error', reject)
    request.end(body)
  })
}

/** The beginning of what is answered to these bytes. */
async function bytes(text: string): Promise<string> {
  const socket = connect(portOf(app), '127.0.0.1')
  socket.write(text)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  return answer.toString()
}

function portOf({ url }: Application): number {
  return Number(new URL(url).port)
}

/** What the page knows of the request that was sent last. */
async function examined(path: string, init?: RequestInit) {
  await fetch(`${app.url}${path}`, init)
  const { body } = await raw('/__filigree/requests')
  return (await raw(`/__filigree/request?number=${body.at(-1).number}`)).body
}

describe('who is answered', () => {
  const port = (): number => portOf(app)

  it('is this machine, by its own names', async () => {
    expect(await raw('/__filigree')).toMatchObject({
      status: 200,
      body: expect.stringMatching(/^<!doctype/),
    })
    for (const host of ['localhost', '127.0.0.1', '[::1]'])
      expect((await raw('/__filigree/routes', { host: `${host}:${port()}` })).status).toBe(200)
  })

  it.each(['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '10.0.0.7'])(
    'is nobody who asks for %s',
    async (host) => {
      for (const path of ['', '/page.js', '/requests', '/log'])
        expect((await raw(`/__filigree${path}`, { host: `${host}:${port()}` })).status).toBe(403)
    },
  )

  it('is no page of another origin', async () => {
    const own = `http://127.0.0.1:${port()}`
    expect((await raw('/__filigree/requests', { origin: own })).status).toBe(200)
    for (const origin of ['http://evil.example', 'http://localhost:1', 'null'])
      expect((await raw('/__filigree/requests', { origin })).status).toBe(403)
    const site = { 'sec-fetch-site': 'cross-site' }
    expect((await raw('/__filigree/requests', site)).status).toBe(403)
  })

  it.each([
    ...['x-forwarded-for', 'x-forwarded-host', 'forwarded', 'via', 'x-real-ip', 'cf-ray'],
    ...['cdn-loop', 'true-client-ip', 'ngrok-skip-browser-warning', 'tailscale-user-login'],
  ])('is nobody behind a tunnel, which adds %s and asks for localhost', async (name) => {
    for (const path of ['', '/page.js', '/requests', '/token']) {
      const headers = { host: `localhost:${port()}`, [name]: '127.0.0.1' }
      const { status, body } = await raw(`/__filigree${path}`, headers)
      expect({ status, error: body.error }).toEqual({
        status: 403,
        error: expect.stringContaining(`a tunnel (${name})`),
      })
    }
  })

  it('is nobody who sends other things than JSON, or too much', async () => {
    const own = { host: `localhost:${port()}`, origin: `http://localhost:${port()}` }
    const tell = (type: string, body: string) =>
      raw('/__filigree/token', { ...own, 'content-type': type }, undefined, undefined, body)
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])
      expect((await tell(type, '{"claims":{}}')).status).toBe(415)
    expect((await tell('application/json', '{')).status).toBe(400)
    expect((await tell('application/json', `"${'x'.repeat(70_000)}"`)).status).toBe(413)
    expect((await tell('application/json', '{"claims":[1]}')).status).toBe(400)
    const announced = {
      ...own,
      'content-type': 'application/json',
      'content-length': '9'.repeat(9),
    }
    expect((await raw('/__filigree/token', announced, undefined, undefined, '{')).status).toBe(413)
    const twice = `GET /__filigree/log?secret=${secret} HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n`
    expect(await bytes(twice)).toMatch(/^HTTP\/1.1 403 /)
    for (const path of ['/constructor', '/__proto__', '/../page.ts', '/%2e%2e/page.ts', '/page.ts'])
      expect((await raw(`/__filigree${path}`)).status).toBe(404)
  })

  it('is no other machine, whatever it says of itself', async () => {
    const addresses = Object.values(networkInterfaces()).flat()
    const own = addresses.find((one) => one?.family === 'IPv4' && !one.internal)
    // A machine without a network has no other address.
    if (own === undefined) return
    const headers = { host: `localhost:${port()}`, 'x-forwarded-for': '127.0.0.1' }
    expect((await raw('/__filigree', headers, own.address)).status).toBe(404)
  })

  it('is a client with the secret, in the address or as the cookie', async () => {
    const without = { cookie: '' }
    for (const path of ['', '/page.js', '/page.css', '/requests', '/records', '/log', '/nothing'])
      expect(await raw(`/__filigree${path}`, without)).toEqual({
        status: 403,
        body: { error: expect.stringContaining('Open the address that the command printed') },
      })
    for (const wrong of ['', 'secret', `${secret}x`, encodeURIComponent(`${secret}\0`)])
      expect((await raw(`/__filigree/log?secret=${wrong}`, without)).status).toBe(403)
    const other = { cookie: `filigree-dev-1=${secret}` }
    expect((await raw('/__filigree/log', other)).status).toBe(403)
    expect((await raw(`/__filigree/log?secret=${secret}`, without)).status).toBe(200)
    const opened = await fetch(`http://127.0.0.1:${port()}/__filigree?secret=${secret}`, {
      redirect: 'manual',
    })
    expect(opened.status).toBe(303)
    expect(opened.headers.get('location')).toBe('/__filigree')
    expect(opened.headers.get('set-cookie')).toBe(
      `filigree-dev-${port()}=${secret}; Path=/; HttpOnly; SameSite=Strict`,
    )
  })

  it('is nobody behind a proxy that adds no header', async () => {
    const headers = { cookie: '', 'content-type': 'application/json', host: `127.0.0.1:${port()}` }
    const body = '{"claims":{"sub":"1","roles":["admin"]}}'
    const { status } = await raw('/__filigree/token', headers, undefined, undefined, body)
    expect(status).toBe(403)
  })

  it('is nobody in production', async () => {
    const production = { env: { NODE_ENV: 'production' }, auth: { keys: false } } as const
    @Controller('/a')
    class A {
      @Get('/') a(): string {
        return 'a'
      }
    }
    @Module({ controllers: [A] })
    class AModule {}
    await using live = await bootstrap(AModule, { port: 0, logger: false, ...production })
    const { status } = await raw('/__filigree', {}, '127.0.0.1', portOf(live))
    expect(status).toBe(404)
    expect((await raw('/a', {}, '127.0.0.1', portOf(live))).status).toBe(200)
    expect(monitor.recorder.requests).toEqual([])
  })
})

describe('what is recorded', () => {
  it('nests statements in their steps, and marks those that repeat', async () => {
    const { steps, hints, status, handler } = await examined('/api/shelves/slow')
    expect({ status, handler }).toEqual({ status: 200, handler: 'ShelfController.slow' })
    const [step] = steps.filter(({ kind }: { kind: string }) => kind === 'handler')
    expect(step).toMatchObject({ name: 'ShelfController.slow' })
    const repeats = step.steps.map((one: { repeats: number }) => one.repeats)
    expect(repeats).toEqual([1, 4, 4, 4, 4])
    expect(hints).toContainEqual(expect.stringContaining('N + 1'))
  })

  it('marks what reads whole tables, with the plan', async () => {
    const { steps, hints } = await examined('/api/shelves/sorted')
    expect(find(steps, 'statement')).toMatchObject({
      scans: ['shelf'],
      plan: expect.arrayContaining([expect.stringMatching(/SCAN/)]),
    })
    expect(hints).toContainEqual(expect.stringMatching(/complete table.*fields: \['name'/))
    const { hints: none } = await examined('/api/shelves?count=none')
    expect(none).toEqual([])
  })

  it('tells an operation of GraphQL with its SQL', async () => {
    const one = await examined('/api/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: 'query Names { shelves { name } }' }),
    })
    const graphql = find(one.steps, 'graphql')
    expect(graphql).toMatchObject({
      ...{ name: 'query Names', cost: expect.any(Number) },
      steps: [{ kind: 'statement' }],
    })
    expect(one.body.query).toContain('query Names')
  })

  it('shows a fault with its source', async () => {
    const { fault } = await examined('/api/shelves/broken')
    expect(fault).toMatchObject({ name: 'Error', message: 'The lamp is broken, token: "(hidden)"' })
    expect(fault.file).toContain('development-page.slow.ts')
    expect(fault.source.length).toBeGreaterThan(3)
  })

  it('leaves out tokens, cookies, passwords and hidden fields', async () => {
    const one = await examined('/api/shelves/login?token=a-secret&page=2', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: 'Bearer a-secret',
        cookie: 'app_session=a-secret',
        'x-api-key': 'a-secret',
      },
      body: JSON.stringify({ name: 'ann', password: 'a-secret' }),
    })
    const { body: log } = await raw('/__filigree/log')
    expect(one).toMatchObject({
      url: '/api/shelves/login?token=(hidden)&page=2',
      body: { name: 'ann', password: '(hidden)' },
      lines: [{ message: 'signing in', details: { name: 'ann' } }],
    })
    const query = 'mutation { login(name: "ann", password: "a-secret") { name } }'
    const graphqlRequest = await examined('/api/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables: { password: 'a-secret' } }),
    })
    expect(JSON.stringify([one, log, graphqlRequest, reportedRequests])).not.toContain('a-secret')
  })

  it('knows routes, records, what waits and makes tokens', async () => {
    const { body: routes } = await raw('/__filigree/routes')
    expect(routes).toContainEqual(
      expect.objectContaining({
        ...{ method: 'POST', path: '/api/shelves/login', words: 'everybody' },
        body: { name: 'ann', password: '' },
      }),
    )
    const { body: records } = await raw('/__filigree/records')
    expect(records).toContainEqual(
      expect.objectContaining({
        name: 'Book',
        read: 'any token',
        write: 'role librarian',
        rows: true,
      }),
    )
    expect((await raw('/__filigree/waiting')).body.providers).toContainEqual({
      of: 'jobs',
      entries: [expect.objectContaining({ name: 'Mail.welcome' })],
    })
    const tokenResponse = await fetch(`${app.url}/__filigree/token?secret=${secret}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ claims: { sub: '7', roles: ['librarian'] } }),
    })
    const { token } = (await tokenResponse.json()) as { token: string }
    const shelf = await fetch(`${app.url}/api/shelves`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ name: 'e' }),
    })
    expect(shelf.status).toBe(201)
  })

  it('lists jobs and mail, runs failed jobs again and cancels those that wait', async () => {
    const queue = app.get(Jobs)
    const { id } = await queue.add(Work, 'once')
    await app.get(Mailer).send({ to: 'ann@x.example', subject: 'Welcome', text: 'Hello' })
    await queue.drain()
    const { id: later } = await queue.add(Work, 'once', undefined, { in: '1h' })
    const waiting = async (query = '') => (await raw(`/__filigree/waiting${query}`)).body
    const { jobs: listed, mail: caught } = await waiting()
    expect(listed.counts).toMatchObject({ waiting: 1, failed: 1, done: 1 })
    expect(listed.jobs).toMatchObject([
      { id: later, name: 'Work.once', state: 'waiting', attempt: 0 },
      { name: 'mail.send', state: 'done' },
      { id, state: 'failed', attempt: 1, error: expect.stringContaining('other side is away') },
    ])
    expect(caught).toMatchObject([{ to: ['ann@x.example'], subject: 'Welcome', text: 'Hello' }])
    expect((await waiting('?state=failed')).jobs.jobs).toMatchObject([{ id }])
    const change = async (path: string, id: number, origin: string) => {
      const headers = { 'content-type': 'application/json', origin }
      const body = JSON.stringify({ id })
      return await raw(`/__filigree/jobs/${path}`, headers, undefined, undefined, body)
    }
    for (const path of ['retry', 'cancel'])
      expect((await change(path, id, 'http://evil.example')).status).toBe(403)
    const own = `http://127.0.0.1:${portOf(app)}`
    expect((await change('retry', id, own)).body).toEqual({ done: true })
    expect((await change('cancel', later, own)).body).toEqual({ done: true })
    await queue.drain()
    expect((await waiting()).jobs.jobs).toMatchObject([
      { id: later, state: 'cancelled' },
      { name: 'mail.send' },
      { id, state: 'done' },
    ])
  })

  it('is nothing for applications that are not monitored', async () => {
    await withoutMonitoring(monitor, async () => {
      const options = { port: 0, database: 'sqlite::memory:', logger: false }
      await using plain = await bootstrap(LibraryModule, options)
      expect((await raw('/__filigree', {}, '127.0.0.1', portOf(plain))).status).toBe(404)
    })
  })
})

describe('in a browser', () => {
  it('is at most 40 KB', () => {
    const folder = join(root, 'src/cli/dev/page')
    const files = readdirSync(folder).map((name) => readFileSync(join(folder, name)))
    expect(gzipSync(Buffer.concat(files)).length).toBeLessThan(40_960)
  })

  it('has no faults of access, on a phone and in the dark, and is used by keyboard', async () => {
    await fetch(`${app.url}/api/shelves/slow`)
    await fetch(`${app.url}/api/shelves/broken`)
    const { body: known } = await raw('/__filigree/requests')
    const numbers = known.map(({ number }: { number: number }) => number)
    // Nothing that comes with a request is markup there.
    const markup = '<img src=x onerror="document.title=1">'
    await fetch(`${app.url}/api/${encodeURIComponent(markup)}`, { headers: { 'x-a': markup } })
    await examined('/api/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        query: `{ shelves(where: { name: { eq: ${JSON.stringify(markup)} } }) { name } }`,
      }),
    })
    await fetch(`${app.url}/api/shelves/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: markup, password: 'x' }),
    })
    const origin = `http://127.0.0.1:${portOf(app)}`
    await withPage(origin, async ({ page, errors, strangers }) => {
      const views = ['requests', ...numbers.map((one: number) => `requests/${one}`)]
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        for (const view of [...views, 'routes', 'records', 'waiting', 'log']) {
          await page.goto(`${origin}/__filigree?secret=${secret}#${view}`)
          await page.reload()
          await page.waitForSelector('main h2')
          for (const entry of await page.$$('main details')) await entry.evaluate(open)
          const faults = await findProblems(page)
          expect({ view, colorScheme, faults }).toEqual({ view, colorScheme, faults: [] })
          expect(await page.locator('main img, main script').count()).toBe(0)
        }
      }
      await page.goto(`${origin}/__filigree#requests/${String(numbers[0])}`)
      await page.waitForSelector('ol.steps')
      const text = (await page.locator('main').textContent()) ?? ''
      expect(text).toMatch(/sent \d times/)
      expect(text).not.toContain('[object')
      await page.setViewportSize({ width: 360, height: 740 })
      for (const view of [...views, 'routes', 'records', 'waiting', 'log']) {
        await page.goto(`${origin}/__filigree#${view}`)
        await page.reload()
        // A selected request replaces the list.
        await page.waitForSelector('main h2 >> visible=true')
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
        expect({ view, wide: wide > 0 }).toEqual({ view, wide: false })
      }
      // By keyboard alone: to the routes, into a form, and to what happened.
      await page.goto(`${origin}/__filigree#requests`)
      await page.reload()
      await page.waitForSelector('main h2')
      await page.focus('a[href="#routes"]')
      await page.keyboard.press('Enter')
      await page.waitForSelector('details.route')
      await page.locator('summary', { hasText: '/api/shelves/login' }).focus()
      await page.keyboard.press('Enter')
      await page.locator('details[open] textarea').fill('{"name":"ann","password":"x"}')
      await page.locator('details[open] button').focus()
      await page.keyboard.press('Enter')
      await page.waitForSelector('details[open] [role=status] pre')
      expect(await page.locator('details[open] [role=status] pre').textContent()).toContain('ann')
      await page.locator('details[open] [role=status] a').focus()
      await page.keyboard.press('Enter')
      await page.waitForSelector('#request')
      expect(await page.locator('#request').textContent()).toBe('POST /api/shelves/login')
      expect({ errors, strangers }).toEqual({ errors: [], strangers: [] })
    })
  })
})

function open(details: Element): void {
  ;(details as HTMLDetailsElement).open = true
}

interface Step {
  readonly kind: string
  readonly steps: readonly Step[]
}

function find(steps: readonly Step[], kind: string): Step | undefined {
  for (const step of steps) {
    const found = step.kind === kind ? step : find(step.steps, kind)
    if (found !== undefined) return found
  }
  return undefined
}

function ignore(): void {}
