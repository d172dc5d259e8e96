/** `filigree dev` shows no secret of a request, neither on its page nor in its JSON lines. */
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
import { Redactor } from '../../src/serving/redaction/redactor.js'
import { createReport } from '../../src/cli/commands/dev.js'
import { startMonitoring, stopMonitoring } from './development-monitor.js'
import { passwords, tokens } from './random-secrets.js'

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
class LoginInput {
  @Field('string') password!: string
}

class Work {
  @Job({ body: LoginInput, retries: 0 }) signIn({ password }: LoginInput): void {
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

  /** Writes its input to all outputs of an application. */
  @Post('/echo', { body: Credentials }) @NoAuth async echo(
    body: Credentials,
    request: HttpRequest,
  ) {
    const input = body.password ?? body.inner?.pinCode ?? body.note ?? ''
    request.log.info({ input, list: [input], err: new Error(`of ${input}`) }, `it came: ${input}!`)
    await this.database.kysely
      .selectFrom('account')
      .select('id')
      .where('shade', '=', input)
      .execute()
    await this.jobs.add(Work, 'signIn', { password: input })
    await this.mailer.send({
      to: 'ann@desk.example',
      subject: 'A link',
      text: `http://desk.example/?token=${encodeURIComponent(input)}`,
    })
    await this.jobs.drain()
    throw new Error(`It broke with ${input} in it.`, { cause: new Error(input) })
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
let lines: string[] = []
const redactor = new Redactor()
const report = createReport({ out: (text) => Promise.resolve(void lines.push(text)) }, redactor)
const write = (level: number) => (details: object, msg: string) => {
  const { err, ...more } = details as { err?: Error }
  const error = err === undefined ? {} : { err: { message: err.message, stack: err.stack ?? '' } }
  report({ event: 'log', line: { level, msg, ...more, ...error } })
}
const monitor = startMonitoring('secret-of-the-page', {
  request: (request) => {
    report({ event: 'request', request })
  },
  job: (job) => {
    report({ event: 'job', job })
  },
})

beforeAll(async () => {
  const logger = { error: write(50), warn: write(40), info: write(30), debug: write(20) }
  // The echo route blocks the event loop, which must not reject requests.
  const options = {
    ...{ port: 0, database: 'sqlite::memory:', logger },
    times: { delay: Infinity },
  }
  app = await bootstrap(DeskModule, { ...options, env: { NODE_ENV: 'development' } })
  redactor.learnNames(monitor.recorder.redactor.names)
})
afterAll(async () => {
  stopMonitoring(monitor)
  await app.close()
})
beforeEach(() => {
  monitor.recorder.clear()
  lines = []
})

interface TestRequest {
  readonly path?: string
  readonly method?: string
  readonly headers?: { readonly [name: string]: string }
  readonly body?: string
}

function sendRequest({
  path = '/accounts/echo',
  method,
  headers = {},
  body,
}: TestRequest): Promise<string> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(app.url)
    const usedMethod = method ?? (body === undefined ? 'GET' : 'POST')
    const cookie = path.startsWith('/__filigree')
      ? { cookie: `filigree-dev-${port}=secret-of-the-page` }
      : {}
    const options = { host: '127.0.0.1', port, path, method: usedMethod }
    const allHeaders = { ...cookie, ...headers }
    const outgoing = send({ ...options, headers: allHeaders }, (response) => {
      let text = ''
      response.on('data', (data) => (text += String(data)))
      response.on('end', () => {
        resolve(text)
      })
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

/** All texts of the page and all JSON lines. */
async function readEverything(): Promise<string> {
  const requests = JSON.parse(await sendRequest({ path: '/__filigree/requests' })) as {
    number: number
  }[]
  const paths = ['routes', 'records', 'waiting', 'log']
  const all = [JSON.stringify(requests), ...lines]
  for (const { number } of requests)
    all.push(await sendRequest({ path: `/__filigree/request?number=${number}` }))
  for (const path of paths) all.push(await sendRequest({ path: `/__filigree/${path}` }))
  return all.join('\n')
}

const json = { 'content-type': 'application/json' }
const posted = (value: unknown, path?: string): TestRequest => ({
  ...(path === undefined ? {} : { path }),
  headers: json,
  body: JSON.stringify(value),
})
const graphql = (query: string, variables?: object): TestRequest =>
  posted({ query, variables }, '/graphql')
const graphqlByGet = (query: string, variables?: object): TestRequest => ({
  path: `/graphql?query=${encodeURIComponent(query)}${
    variables === undefined ? '' : `&variables=${encodeURIComponent(JSON.stringify(variables))}`
  }`,
})
const text = JSON.stringify
const uri = encodeURIComponent
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const parts = { 'content-type': 'multipart/form-data; boundary=x' }

/** Values that are secrets because of their names or declarations, by where they are. */
const named: { [location: string]: (secret: string) => TestRequest } = {
  'a field': (s) => posted({ password: s }),
  'a nested field': (s) => posted({ inner: { pinCode: s } }),
  'undeclared names': (s) =>
    posted({ a: [{ passwordConfirmation: s, password2: s }] }, '/accounts/raw'),
  'other names': (s) =>
    posted(
      { accessKey: s, auth: s, cvv: s, pin_code: { a: s }, 'x-auth': [s], SessionID: s },
      '/accounts/raw',
    ),
  'a hidden field': (s) => posted({ name: 'a', shade: s }, '/accounts/raw'),
  'a secured field': (s) => posted({ name: 'a', wage: s }, '/accounts'),
  'an invalid body': (s) => posted({ password: s, name: 7 }),
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
  'GraphQL by GET': (s) => graphqlByGet(`{ login(password: ${text(s)}) { id } }`),
  'variables by GET': (s) =>
    graphqlByGet('query Q($p: String) { login(password: $p) { id } }', { p: s }),
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

/** Values that are secrets only because of their form, by where they are. */
const shaped: { [location: string]: (secret: string) => TestRequest } = {
  'a path': (s) => ({ path: `/accounts/named/${s}` }),
  'a path without a route': (s) => ({ path: `/nowhere/${s}/there` }),
  'a token of the path': (s) => ({ path: `/accounts/reset/${s}` }),
  'a harmless parameter': (s) => ({
    path: `/accounts/named/a?page=${uri(s)}&${uri(s)}&${uri(s)}=1`,
  }),
  'an unencoded parameter': (s) => ({ path: `/accounts/named/a?page=${s}` }),
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

/** @returns the secret with its context if it is visible anywhere, plain or encoded */
async function findVisible(sent: TestRequest, secret: string): Promise<string | undefined> {
  monitor.recorder.clear()
  lines = []
  await sendRequest(sent)
  const all = await readEverything()
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

describe('the page and the JSON lines', () => {
  const runs = { numRuns: 6, seed: 20_261_123, endOnFailure: true }

  it.each(Object.entries(named))('hide a password in %s', async (_location, toSent) => {
    await fc.assert(
      fc.asyncProperty(passwords, async (secret) => {
        expect(await findVisible(toSent(secret), secret)).toBeUndefined()
      }),
      runs,
    )
  })

  it.each(Object.entries(shaped))('hide a token in %s', async (_location, toSent) => {
    await fc.assert(
      fc.asyncProperty(tokens, async (secret) => {
        expect(await findVisible(toSent(secret), secret)).toBeUndefined()
      }),
      runs,
    )
  })
})
