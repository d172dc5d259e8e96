/** No secret that comes with a request is shown by `filigree dev`: not on its page, not in its lines of JSON. */
import { request as send } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import {
  bootstrap,
  Controller,
  Database,
  Field,
  Get,
  HttpError,
  Module,
  NoAuth,
  Post,
  Record,
  Secured,
  type Application,
  type HttpRequest,
} from 'filigree'
import { Job, Jobs, jobs } from 'filigree/jobs'
import { mail, Mailer } from 'filigree/mail'
import { setDevelopmentHost } from '../../src/bootstrap/development-host.js'
import { DevelopmentMonitor } from '../../src/cli/dev/development-monitor.js'
import { Redactor } from '../../src/cli/dev/redactor.js'
import { createReport } from '../../src/cli/commands/dev.js'

@Record
class Account {
  @Field('id') id!: number
  @Field('string', { optional: true }) name?: string
  @Field('string', { hidden: true, optional: true }) shade?: string
  @Field('string', { optional: true, nullable: true }) @Secured('auditor') wage?: string | null
}

class Inner {
  @Field('string', { optional: true }) pinCode?: string
}
class Credentials {
  @Field('string', { optional: true }) name?: string
  @Field('string', { optional: true }) password?: string
  @Field(Inner, { optional: true }) inner?: Inner
  @Field('string', { optional: true }) note?: string
}
class Told {
  @Field('string') password!: string
}

class Work {
  @Job({ body: Told, retries: 0 }) tell({ password }: Told): void {
    throw new Error(`The other side refused ${password}.`)
  }
}

@Controller('/accounts', { crud: Account })
class AccountController {
  static inject = [Database, Jobs, Mailer]
  constructor(
    private readonly database: Database,
    private readonly jobs: Jobs,
    private readonly mailer: Mailer,
  ) {}

  /** Says what it was given, in every place that a program has for it. */
  @Post('/echo', { body: Credentials }) @NoAuth async echo(
    body: Credentials,
    request: HttpRequest,
  ) {
    const given = body.password ?? body.inner?.pinCode ?? body.note ?? ''
    request.log.info({ given, list: [given], err: new Error(`of ${given}`) }, `it came: ${given}!`)
    await this.database.kysely
      .selectFrom('account')
      .select('id')
      .where('shade', '=', given)
      .execute()
    await this.jobs.add(Work, 'tell', { password: given })
    await this.mailer.send({
      to: 'ann@desk.example',
      subject: 'A link',
      text: `http://desk.example/?token=${encodeURIComponent(given)}`,
    })
    await this.jobs.drain()
    throw new Error(`It broke with ${given} in it.`, { cause: new Error(given) })
  }

  @Post('/raw') @NoAuth raw(body: unknown, request: HttpRequest): unknown {
    request.log.warn({ body }, 'raw')
    return {}
  }

  @Get('/reset/<token>') @NoAuth reset(token: string): never {
    throw new HttpError(500, `no ${token}`)
  }

  @Get('/named/<name>') @NoAuth named(name: string, request: HttpRequest) {
    request.log.info({}, `named ${name}`)
    return {}
  }
}

@Module({
  controllers: [AccountController],
  providers: [Work],
  records: [Account],
  imports: [jobs(), mail({ from: 'desk@desk.example' })],
})
class DeskModule {}

let app: Application
let told: string[] = []
const redactor = new Redactor()
const report = createReport({ out: (text) => Promise.resolve(void told.push(text)) }, redactor)
const write = (level: number) => (details: object, msg: string) => {
  const { err, ...more } = details as { err?: Error }
  const error = err === undefined ? {} : { err: { message: err.message, stack: err.stack ?? '' } }
  report({ event: 'log', line: { level, msg, ...more, ...error } })
}
const guest = new DevelopmentMonitor({
  secret: 'secret-of-the-page',
  started: () => undefined,
  request: (request) => {
    report({ event: 'request', request })
  },
  job: (job) => {
    report({ event: 'job', job })
  },
})

beforeAll(async () => {
  setDevelopmentHost(guest)
  const logger = { error: write(50), warn: write(40), info: write(30), debug: write(20) }
  // What it does takes long turns, and nobody is to be refused for that.
  const options = {
    ...{ port: 0, database: 'sqlite::memory:', logger },
    times: { delay: Infinity },
  }
  app = await bootstrap(DeskModule, { ...options, env: { NODE_ENV: 'development' } })
  redactor.learnNames(guest.recorder.redactor.names)
})
afterAll(async () => {
  setDevelopmentHost(undefined)
  guest.recorder.close()
  await app.close()
})
beforeEach(() => {
  guest.recorder.clear()
  told = []
})

interface Sent {
  readonly path?: string
  readonly method?: string
  readonly headers?: { readonly [name: string]: string }
  readonly body?: string
}

function ask({ path = '/accounts/echo', method, headers = {}, body }: Sent): Promise<string> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(app.url)
    const how = method ?? (body === undefined ? 'GET' : 'POST')
    const cookie = path.startsWith('/__filigree')
      ? { cookie: `filigree-dev-${port}=secret-of-the-page` }
      : {}
    const sent = { ...cookie, ...headers }
    const asked = send({ host: '127.0.0.1', port, path, method: how, headers: sent }, (answer) => {
      let text = ''
      answer.on('data', (data) => (text += String(data)))
      answer.on('end', () => {
        resolve(text)
      })
    })
    asked.on('error', reject)
    asked.end(body)
  })
}

/** All that the page and the lines of JSON say. */
async function everything(): Promise<string> {
  const requests = JSON.parse(await ask({ path: '/__filigree/requests' })) as { number: number }[]
  const paths = ['routes', 'records', 'waiting', 'log']
  const all = [JSON.stringify(requests), ...told]
  for (const { number } of requests)
    all.push(await ask({ path: `/__filigree/request?number=${number}` }))
  for (const path of paths) all.push(await ask({ path: `/__filigree/${path}` }))
  return all.join('\n')
}

const json = { 'content-type': 'application/json' }
const posted = (value: unknown, path?: string): Sent => ({
  ...(path === undefined ? {} : { path }),
  headers: json,
  body: JSON.stringify(value),
})
const graphql = (query: string, variables?: object): Sent =>
  posted({ query, variables }, '/graphql')
const asked = (query: string, variables?: object): Sent => ({
  path: `/graphql?query=${encodeURIComponent(query)}${
    variables === undefined ? '' : `&variables=${encodeURIComponent(JSON.stringify(variables))}`
  }`,
})
const text = JSON.stringify
const uri = encodeURIComponent
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const parts = { 'content-type': 'multipart/form-data; boundary=x' }

/** Where only the name, or a note of the application, says that a value is a secret. */
const named: { [place: string]: (secret: string) => Sent } = {
  'a field': (s) => posted({ password: s }),
  'a field within': (s) => posted({ inner: { pinCode: s } }),
  'names that are not declared': (s) =>
    posted({ a: [{ passwordConfirmation: s, password2: s }] }, '/accounts/raw'),
  'other names': (s) =>
    posted(
      { accessKey: s, auth: s, cvv: s, pin_code: { a: s }, 'x-auth': [s], SessionID: s },
      '/accounts/raw',
    ),
  'a hidden field': (s) => posted({ name: 'a', shade: s }, '/accounts/raw'),
  'a secured field': (s) => posted({ name: 'a', wage: s }, '/accounts'),
  'a body that does not fit': (s) => posted({ password: s, name: 7 }),
  'JSON in a text': (s) => posted({ payload: text({ deep: text({ token: s }) }) }, '/accounts/raw'),
  'a form': (s) => ({ headers: form, body: `name=a&password=${uri(s)}` }),
  'parts of a form': (s) => ({
    headers: parts,
    body: `--x\r\nContent-Disposition: form-data; name="password"\r\n\r\n${s}\r\n--x--\r\n`,
  }),
  'the query': (s) => ({
    path: `/accounts?user%5Bpassword%5D=${uri(s)}&authKey=${uri(s)}&shade.eq=${uri(s)}`,
  }),
  'a filter of GraphQL': (s) => graphql(`{ accounts(where: { wage: { eq: ${text(s)} } }) { id } }`),
  'a variable': (s) => graphql('query Q($p: String) { login(password: $p) { id } }', { p: s }),
  'variables by name': (s) =>
    graphql('query Q($p: I) { login(input: $p) { id } }', { p: { password: s } }),
  'a literal': (s) => graphql(`mutation { login(name: "a", password: ${text(s)}) { id } }`),
  'a block string': (s) =>
    graphql(`mutation { login(password: """${s.replaceAll('"', '')}x""") { id } }`),
  'a default': (s) => graphql(`query Q($p: String = ${text(s)}) { login(password: $p) { id } }`),
  'a list': (s) => graphql(`{ login(in: { tokens: [${text(s)}] }) { id } }`),
  'a broken document': (s) => graphql(`mutation { login(password: ${text(s)}`),
  'GraphQL by GET': (s) => asked(`{ login(password: ${text(s)}) { id } }`),
  'variables by GET': (s) => asked('query Q($p: String) { login(password: $p) { id } }', { p: s }),
  'a cookie': (s) => ({ headers: { cookie: `a=1; app=${uri(s)}` } }),
  Basic: (s) => ({
    headers: { authorization: `Basic ${Buffer.from(`ann:${s}`).toString('base64')}` },
  }),
}
for (const name of [
  'x-auth',
  'x-auth-key',
  'cf-access-jwt-assertion',
  'x-anything',
  'proxy-authorization',
])
  named[`the header ${name}`] = (s) => ({ headers: { [name]: uri(s) } })
named['the referer'] = (s) => ({ headers: { referer: `http://a.example/b?password=${uri(s)}` } })
named['protocols of a socket'] = (s) => ({ headers: { 'sec-websocket-protocol': `a, ${uri(s)}` } })

/** Where nothing but its shape says so. */
const shaped: { [place: string]: (secret: string) => Sent } = {
  'a path': (s) => ({ path: `/accounts/named/${s}` }),
  'a path of nobody': (s) => ({ path: `/nowhere/${s}/there` }),
  'a token of the path': (s) => ({ path: `/accounts/reset/${s}` }),
  'a harmless parameter': (s) => ({
    path: `/accounts/named/a?page=${uri(s)}&${uri(s)}&${uri(s)}=1`,
  }),
  'a parameter as it is': (s) => ({ path: `/accounts/named/a?page=${s}` }),
  'the agent': (s) => ({ headers: { 'user-agent': `x/${s}`, origin: `http://${s}.example` } }),
  'the query of a referer': (s) => ({ headers: { referer: `http://a.example/${s}?a=${s}` } }),
  'Bearer in a text': (s) => posted({ note: `curl -H "Authorization: Bearer ${s}"` }),
  'a harmless field': (s) => posted({ note: s }),
  'a key': (s) => posted({ [s]: 1 }, '/accounts/raw'),
  'a filter': (s) => graphql(`{ accounts(where: { name: { eq: ${text(s)} } }) { id } }`),
  'a comment': (s) => graphql(`# ${s}\n{ accounts { id } }`),
  'an alias': (s) => graphql(`query q_${s.replaceAll(/\W/g, '')} { accounts { id } }`),
  'a name of a file': (s) => ({
    headers: parts,
    body: `--x\r\nContent-Disposition: form-data; name="a"; filename="${s}.txt"\r\n\r\nx\r\n--x--\r\n`,
  }),
}

const passwords = fc
  .tuple(
    fc.constantFrom('zq', 'qx', 'jx'),
    fc.string({
      unit: fc.constantFrom(...Array.from('abyz0189 -_."\'\\{}&=:;,()$%+äß')),
      minLength: 4,
      maxLength: 12,
    }),
    fc.constantFrom('9zq', 'qj7', 'xq'),
  )
  .map((all) => all.join(''))
const bytes = fc
  .uint8Array({ minLength: 24, maxLength: 40 })
  .map((given) => Buffer.from(given.map((one, place) => one ^ ((place * 151 + 77) % 251))))
const base64url = bytes.map((given) => given.toString('base64url'))
const tokens = fc.oneof(
  base64url,
  bytes.map((given) => given.toString('hex')),
  bytes.map((given) => given.toString('base64').replaceAll('/', '%2F')),
  base64url.map((given) => `eyJhbGciOiJIUzI1NiJ9.${given}.${given.slice(4)}`),
  base64url.map((given) => `sk_live_${given.replaceAll(/\W/g, '')}`),
)

/** @returns the secret if it is shown anywhere, as it is or as texts write it */
async function shownOf(sent: Sent, secret: string): Promise<string | undefined> {
  guest.recorder.clear()
  told = []
  await ask(sent)
  const all = await everything()
  expect(all).toContain(sent.path === undefined ? '/accounts/echo' : '"number":')
  const forms = [
    secret,
    text(secret).slice(1, -1),
    uri(secret),
    text(text(secret).slice(1, -1)).slice(1, -1),
    secret.replaceAll(/\W/g, '').slice(0, 200),
  ]
  const found = forms.find((form) => form.length >= 6 && all.includes(form))
  if (found === undefined) return undefined
  const at = all.indexOf(found)
  return `${found} in …${all.slice(Math.max(0, at - 200), at + 100)}…`
}

describe('what nobody is shown', () => {
  const runs = { numRuns: 6, seed: 20_261_123, endOnFailure: true }

  it.each(Object.entries(named))('is a password in %s', async (_place, toSent) => {
    await fc.assert(
      fc.asyncProperty(passwords, async (secret) => {
        expect(await shownOf(toSent(secret), secret)).toBeUndefined()
      }),
      runs,
    )
  })

  it.each(Object.entries(shaped))('is a token in %s', async (_place, toSent) => {
    await fc.assert(
      fc.asyncProperty(tokens, async (secret) => {
        expect(await shownOf(toSent(secret), secret)).toBeUndefined()
      }),
      runs,
    )
  })
})

describe('what is shown', () => {
  const shown = new Redactor()

  it.each([
    'Error: x\n    at Work.tell (/home/ann/desk/src/auth/token.ts:12:5)\n    at async file:///home/ann/desk/src/session.ts:1:1',
    'UNIQUE constraint failed: account.email',
    'duplicate key value violates unique constraint "account_email_key"',
    'Key (email)=(ann@desk.example) already exists.',
    "Cannot read properties of undefined (reading 'passwordHash')",
    'The token is missing; a password must have 8 characters',
    'code: ECONNREFUSED',
    'Contract.code: pattern /^(a+)+$/ can take very long on hostile text. Do not repeat what already repeats.',
    'Filigree cannot start: 1 problem\n 1 User.password: unknown kind "text". Use one of: string, integer.',
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/147.0.0.0 Safari/537.36',
    '/api/tickets/7/comments/how-to-write-a-good-slug-2024',
    'migrations/20260101000000_first.postgres.sql at 2026-11-23T01:33:39.000Z',
    'http://auth.desk.example:3000/sessions',
  ])('is %j', (line) => {
    expect(shown.text(line)).toBe(line)
  })

  it.each([
    '/caf%C3%A9/%3Cscript%3Ealert(1)%3C%2Fscript%3E?q=a%20b+c',
    '/tickets?status.eq=open&orderBy=-id',
    '/auth/login',
    '/files/report-2026.pdf',
  ])('is the address %s', (url) => {
    expect(shown.url(url)).toBe(url)
  })

  it('is the same when it is read once more', () => {
    const texts = fc.oneof(
      fc.string(),
      fc.json(),
      tokens,
      passwords.map((one) => `token: ${one}`),
    )
    fc.assert(
      fc.property(texts, (text) => {
        const once = shown.text(text)
        expect(shown.text(once)).toBe(once)
      }),
      { seed: 7, numRuns: 300 },
    )
  })
})
