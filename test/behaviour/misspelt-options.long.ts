/**
 * "Every options object of every exported decorator and function refuses unknown keys at the start or at the call,
 * with did-you-mean." One table lists every export with a way to pass options to it. The test then misspells every name
 * that an export accepts. Every exported options type must be in the table. The browser client is checked by
 * TypeScript only.
 */
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import * as filigree from '../../src/index.js'
import * as accessLogModule from '../../src/modules/access-log/access-log.js'
import * as cacheModule from '../../src/modules/cache/cache.js'
import * as compressModule from '../../src/modules/compress/compress.js'
import * as healthModule from '../../src/modules/health/health.js'
import * as idempotentModule from '../../src/modules/idempotent/idempotent.js'
import * as jobsModule from '../../src/modules/jobs/jobs.js'
import * as adminModule from '../../src/modules/admin/admin.js'
import * as passkeysModule from '../../src/modules/passkeys/passkeys.js'
import * as oidcModule from '../../src/modules/oidc/oidc.js'
import * as mcpModule from '../../src/modules/mcp/mcp.js'
import * as mailModule from '../../src/modules/mail/mail.js'
import * as metricsModule from '../../src/modules/metrics/metrics.js'
import * as securityHeadersModule from '../../src/modules/security-headers/security-headers.js'
import * as testingModule from '../../src/modules/testing/testing.js'
import * as throttleModule from '../../src/modules/throttle/throttle.js'
import * as tracingModule from '../../src/modules/tracing/tracing.js'

const {
  Auth,
  BelongsTo,
  Controller,
  Database,
  Delete,
  Doc,
  Field,
  Get,
  GraphQL,
  HasMany,
  HttpError,
  ManyToMany,
  Module,
  Patch,
  Post,
  Put,
  Record,
  Resolve,
  Secured,
  Use,
  bootstrap,
  connect,
  createDecorator,
  createModule,
  events,
  file,
  pglite,
  reply,
  oneTime,
} = filigree

/** Options with unknown names. `never`, so that every parameter accepts them. */
type Odd = never
/** Passes the options to an export, which throws or returns a promise that rejects. */
type Send = (odd: Odd) => unknown

@Record()
class Shelf {
  @Field('id') id!: number
  @Field('string', { unique: true, default: '' }) name!: string
}

const quiet = { listen: false, logger: false } as const

function moduleOf(options: filigree.ModuleOptions): new () => object {
  class Odd {}
  Module(options)(Odd)
  return Odd
}

/** Starts an application with a module of these options. */
function start(
  options: filigree.ModuleOptions,
  bootstrapOptions: filigree.BootstrapOptions = {},
): Promise<unknown> {
  return bootstrap(moduleOf(options), {
    ...quiet,
    database: 'sqlite::memory:',
    ...bootstrapOptions,
  })
}

/** Starts an application with one decorated controller method. */
function startRoute(...decorators: filigree.AnyDecorator[]): Promise<unknown> {
  class Odd {
    read(): object {
      return {}
    }
  }
  for (const decorate of decorators.reverse())
    decorate(Odd.prototype, 'read', { value: Odd.prototype.read.bind(null) })
  Controller('/odd')(Odd)
  return start({ controllers: [Odd] })
}

/** Starts an application with a record that has one decorated property. */
function startRecord(decorator: filigree.AnyDecorator, options: filigree.RecordOptions = {}) {
  class Odd {}
  Field('id')(Odd.prototype, 'id')
  decorator(Odd.prototype, 'other')
  Record(options)(Odd)
  return start({ records: [Odd, Shelf] })
}

/** Starts an application with a decorated job. */
function startJob(decorator: filigree.AnyDecorator): Promise<unknown> {
  class Odd {
    run(): void {
      return
    }
  }
  decorator(Odd.prototype, 'run', { value: Odd.prototype.run.bind(null) })
  return start({ providers: [Odd], imports: [jobsModule.jobs()] })
}

const adminOptions = { path: '/admin', roles: 'a', records: [Shelf], login: { path: '/login' } }

/** Starts an admin page of a decorated record. */
function startAdmin(...decorators: unknown[]): Promise<unknown> {
  class Odd {
    close(): void {
      return
    }
  }
  Field('id')(Odd.prototype, 'id')
  for (const decorate of [Record(), ...decorators]) (decorate as (type: unknown) => void)(Odd)
  return start({ imports: [adminModule.admin({ ...adminOptions, records: [Odd] })] })
}

class Work {
  @jobsModule.Job() run(): void {
    return
  }
}

const Invitations = oneTime<string>('a', { for: '1h' })

function startResolve(options: filigree.ResolveOptions): Promise<unknown> {
  class Odd {
    more(): number {
      return 1
    }
  }
  Field('id')(Odd.prototype, 'id')
  Resolve('Int', options)(Odd.prototype, 'more', { value: resolve })
  Record()(Odd)
  return start({ records: [Odd] })
}

function startSchema(declare: (graphql: filigree.GraphQL) => unknown): Promise<unknown> {
  const graphql = new GraphQL()
  graphql.schema.addQuery('a', { type: 'Int', resolve: () => 1 })
  declare(graphql.registerRoute('/odd'))
  return start({ graphql: [graphql] })
}

const resolve = (): number => 1
const one = { type: 'Int' } as const

/** The required options together with the unknown ones. */
function from(required: object, odd: Odd): never {
  return { ...required, ...(odd as object) } as never
}

let testApp: testingModule.TestApplication
const shelves = () => testApp.records(Shelf)
const auth = () => testApp.get(Auth)
const database = () => testApp.get(Database)

/** The functions that take options, by export. `''` is the export itself. */
type Places<Exports> = Readonly<globalThis.Record<keyof Exports, Taking>>

type Taking = readonly (readonly [place: string, send: Send])[]

/** The main entry. An empty list means that the export takes no options. */
const index: Places<typeof filigree> = {
  AfterCommit: [],
  AfterWrite: [],
  AfterDelete: [],
  ApplicationState: [],
  Auth: [
    ['getToken', (odd) => auth().getToken({ sub: 'a' }, odd)],
    ['verify', (odd) => auth().verify('x', odd)],
  ],
  BeforeDelete: [],
  BeforeWrite: [],
  BelongsTo: [['', (odd) => startRecord(BelongsTo(() => Shelf, odd))]],
  PublicUrl: [],
  clip: [],
  escapeHtml: [],
  normalizeText: [],
  tryDecode: [],
  Clock: [],
  Config: [],
  Controller: [
    [
      '',
      (odd) => {
        class Odd {}
        Controller('/odd', odd)(Odd)
        return start({ controllers: [Odd] })
      },
    ],
  ],
  Database: [
    ['transaction', (odd) => database().transaction(() => Promise.resolve(), odd)],
    ['onChange', (odd) => database().onChange(() => undefined, odd)],
    ['changes', (odd) => database().changes(Shelf, odd)],
    ['find', (odd) => shelves().find(1, odd)],
    ['list', (odd) => shelves().list(odd)],
    ['first', (odd) => shelves().first(odd)],
    ['count', (odd) => shelves().count({}, odd)],
    ['aggregate', (odd) => shelves().aggregate(odd)],
    ['update', (odd) => shelves().update(1, { name: 'a' }, odd)],
    ['delete', (odd) => shelves().delete(1, odd)],
    ['upsert', (odd) => shelves().upsert({ name: 'a' }, odd)],
    ['insertMany', (odd) => shelves().insertMany([], odd)],
    ['prepare', (odd) => database().prepare(from({ kind: 'select', tables: [] }, odd), () => '')],
    ['heartbeat', (odd) => database().heartbeat([], odd)],
  ],
  DeclarationError: [],
  Delete: [['', (odd) => startRoute(Delete('/', odd))]],
  Doc: [
    ['', (odd) => startRoute(Get('/'), Doc(odd))],
    ['deprecated', (odd) => startRoute(Get('/'), Doc({ deprecated: odd }))],
    ['responses', (odd) => startRoute(Get('/'), Doc({ responses: { 409: odd } }))],
    ['headers', (odd) => startRoute(Get('/'), Doc({ headers: { 'X-Odd': odd } }))],
  ],
  Field: [['', (odd) => startRecord(Field('string', odd))]],
  Get: [['', (odd) => startRoute(Get('/', odd))]],
  GraphQL: [
    ['', (odd) => start({ graphql: [new GraphQL(odd).registerRoute('/odd')] })],
    ['limits', (odd) => start({ graphql: [new GraphQL({ limits: odd }).registerRoute('/odd')] })],
    ['registerRoute', (odd) => startSchema((graphql) => graphql.registerRoute('/more', odd))],
    ['addType', (odd) => startSchema(({ schema }) => schema.addType('T', { a: from(one, odd) }))],
    ['addInput', (odd) => startSchema(({ schema }) => schema.addInput('T', { a: from(one, odd) }))],
    ['addQuery', (odd) => startSchema(({ schema }) => schema.addQuery('b', from(one, odd)))],
    ['addMutation', (odd) => startSchema(({ schema }) => schema.addMutation('b', from(one, odd)))],
    [
      'addSubscription',
      (odd) => startSchema(({ schema }) => schema.addSubscription('b', from(one, odd))),
    ],
    ['addField', (odd) => startSchema(({ schema }) => schema.addField('T', 'b', from(one, odd)))],
    [
      'args',
      (odd) =>
        startSchema(({ schema }) =>
          schema.addQuery('b', { ...one, resolve, args: { a: from(one, odd) } }),
        ),
    ],
  ],
  HasMany: [['', (odd) => startRecord(HasMany(() => Shelf, odd))]],
  HttpError: [['', (odd) => new HttpError(400, 'no', odd)]],
  Injectable: [],
  ManyToMany: [['', (odd) => startRecord(ManyToMany(() => Shelf, odd))]],
  Module: [
    ['', (odd) => start(odd)],
    ['providers use', (odd) => start({ providers: [from({ provide: 'a', use: 1 }, odd)] })],
    ['providers make', (odd) => start({ providers: [from({ provide: 'a', make: resolve }, odd)] })],
  ],
  NoAuth: [],
  Live: [],
  Operational: [],
  Undocumented: [],
  Page: [],
  Patch: [['', (odd) => startRoute(Patch('/', odd))]],
  Post: [['', (odd) => startRoute(Post('/', odd))]],
  Put: [['', (odd) => startRoute(Put('/', odd))]],
  Record: [
    ['', (odd) => startRecord(Field('string'), odd)],
    [
      'indexes',
      (odd) => startRecord(Field('string'), { indexes: [from({ fields: ['id'] }, odd)] }),
    ],
  ],
  // Its options belong to the called route.
  Routes: [],
  Resolve: [
    ['', (odd) => startResolve(odd)],
    ['args', (odd) => startResolve({ args: { a: from(one, odd) } })],
  ],
  schemaOf: [],
  withLocalDefinitions: [],
  Secured: [['', (odd) => startRoute(Get('/'), Secured(from({ roles: ['a'] }, odd)))]],
  Use: [],
  WorkChannel: [],
  addLogFields: [],
  requestedOperation: [],
  bootstrap: [
    ['', (odd) => start({}, odd)],
    ['auth', (odd) => start({}, { auth: odd })],
    ['auth.keys', (odd) => start({}, { auth: { keys: odd } })],
    ['auth.rotation', (odd) => start({}, { auth: { rotation: from({ grace: '30s' }, odd) } })],
    ['cors', (odd) => start({}, { cors: odd })],
    ['docs', (odd) => start({}, { docs: odd })],
    ['docs.servers', (odd) => start({}, { docs: { servers: [from({ url: '/' }, odd)] } })],
    ['database', (odd) => start({}, { database: from({ engine: pglite() }, odd) })],
    ['graphql', (odd) => start({}, { graphql: odd })],
    ['sessions', (odd) => start({}, { sessions: odd })],
    ['limits', (odd) => start({}, { limits: odd })],
    ['times', (odd) => start({}, { times: odd })],
    ['versions', (odd) => start({}, { versions: odd })],
    ['errors', (odd) => start({}, { errors: odd })],
    ['live', (odd) => start({}, { live: odd })],
    ['inject', (odd) => testApp.app.inject(from({ url: '/' }, odd))],
  ],
  addRecords: [],
  checkOf: [['', (odd) => filigree.checkOf(Shelf, odd)]],
  connect: [
    ['', (odd) => connect(odd)],
    ['with an address', (odd) => connect('sqlite::memory:', odd)],
  ],
  createDecorator: [['', (odd) => startRoute(Get('/'), createDecorator('Odd', () => odd)())]],
  createModule: [['', (odd) => start({ imports: [createModule(() => odd)()] })]],
  createMetadata: [],
  describeFields: [],
  describeRecord: [],
  exportRows: [['', (odd) => filigree.exportRows(shelves(), odd)]],
  importRows: [['', (odd) => filigree.importRows(shelves(), 'name\na\n', odd)]],
  readCsv: [['', (odd) => filigree.readCsv('a\n', odd)]],
  toClientRow: [],
  currentRequest: [],
  entityTag: [],
  events: [['', (odd) => events([from({ data: 1 }, odd)]).body.reader.next()]],
  file: [['', (odd) => file('a', from({ root: '.' }, odd))]],
  fromGlobalId: [],
  hashPassword: [],
  html: [],
  inMemory: [],
  hideShapes: [],
  isHarmlessHeader: [],
  isSecretName: [],
  isStorable: [],
  parseJson: [],
  matchesEntityTag: [],
  omit: [],
  partial: [],
  pglite: [['', (odd) => pglite(odd)]],
  pick: [],
  logFieldsOf: [],
  missingPackage: [],
  recordsAs: [],
  visibleRecords: [],
  oneTime: [
    ['', (odd) => oneTime('invitation', odd)],
    ['make', (odd) => testApp.get(Invitations).make('a', odd)],
  ],
  readRate: [],
  readSeconds: [],
  redirect: [],
  reply: [['cookie', (odd) => reply().cookie('a', 'b', odd)]],
  requestValue: [],
  skip: [],
  StoredValueError: [],
  decimalText: [],
  decimalValue: [],
  toGlobalId: [],
  declareOptions: [],
  option: [],
  providerMethod: [],
  findMethodProblems: [],
  resolveClass: [],
  verifyPassword: [],
  acceptsEventStream: [],
  trackCallerAccess: [],
  HealthCheck: [],
  pendingWork: [],
  addressKey: [],
  resetState: [],
}

const accessLog: Places<typeof accessLogModule> = {
  accessLog: [
    ['', (odd) => start({ imports: [accessLogModule.accessLog(odd)] })],
    ['redact', (odd) => start({ imports: [accessLogModule.accessLog({ redact: odd })] })],
  ],
}
const cache: Places<typeof cacheModule> = {
  CacheFor: [['', (odd) => startRoute(Get('/'), cacheModule.CacheFor('1s', odd))]],
  ETag: [],
}
const compress: Places<typeof compressModule> = {
  compress: [['', (odd) => start({ imports: [compressModule.compress(odd)] })]],
}
const health: Places<typeof healthModule> = {
  health: [['', (odd) => start({ imports: [healthModule.health(odd)] })]],
}
const idempotent: Places<typeof idempotentModule> = {
  idempotent: [['', (odd) => start({ imports: [idempotentModule.idempotent(odd)] })]],
}
const jobs: Places<typeof jobsModule> = {
  Cron: [['', (odd) => startJob(jobsModule.Cron('0 3 * * *', odd))]],
  Every: [['', (odd) => startJob(jobsModule.Every('10m', odd))]],
  GiveUp: [],
  Job: [['', (odd) => startJob(jobsModule.Job(odd))]],
  JobEntry: [],
  JobStopped: [],
  Jobs: [
    ['add', (odd) => testApp.get(jobsModule.Jobs).add(Work, 'run', undefined, odd)],
    ['addMany', (odd) => testApp.get(jobsModule.Jobs).addMany(Work, 'run', [undefined], odd)],
    ['list', (odd) => testApp.get(jobsModule.Jobs).list(odd)],
  ],
  jobs: [['', (odd) => start({ imports: [jobsModule.jobs(odd)] })]],
}
const admin: Places<typeof adminModule> = {
  Admin: [['', (odd) => startAdmin(adminModule.Admin(odd))]],
  AdminAction: [
    [
      '',
      (odd) => {
        const note = adminModule.AdminAction(from({ label: 'Close' }, odd))
        return startAdmin((type: new () => object) => {
          const close = Object.getOwnPropertyDescriptor(type.prototype, 'close')
          Reflect.apply(note as never, null, [type.prototype, 'close', close])
        })
      },
    ],
  ],
  AdminEntry: [],
  admin: [
    ['', (odd) => start({ imports: [adminModule.admin(from(adminOptions, odd))] })],
    [
      'login',
      (odd) =>
        start({
          imports: [adminModule.admin({ ...adminOptions, login: from({ path: '/login' }, odd) })],
        }),
    ],
  ],
}
const passkeys: Places<typeof passkeysModule> = {
  Passkey: [],
  passkeys: [
    [
      '',
      (odd) => {
        const signIn = [Work, 'run'] as const
        return start({ imports: [passkeysModule.passkeys(from({ name: 'Desk', signIn }, odd))] })
      },
    ],
  ],
}
const oidc: Places<typeof oidcModule> = {
  oidc: [
    [
      '',
      (odd) => {
        const provider = { name: 'one', issuer: 'https://id.example', clientId: 'desk' }
        const signIn = [Work, 'run'] as const
        return start({ imports: [oidcModule.oidc(from({ ...provider, signIn }, odd))] })
      },
    ],
  ],
}
const mail: Places<typeof mailModule> = {
  MailJobs: [],
  // Mails are not options, and "cbc" is equally close to cc and bcc. See test/modules/mail.
  Mailer: [],
  mail: [['', (odd) => start({ imports: [jobsModule.jobs(), mailModule.mail(odd)] })]],
}
const mcp: Places<typeof mcpModule> = {
  // Content blocks are defined by the protocol.
  content: [],
  mcp: [['', (odd) => start({ imports: [mcpModule.mcp(odd)] })]],
  Tool: [['', (odd) => startRoute(Get('/'), mcpModule.Tool(odd))]],
  Resource: [['', (odd) => startRoute(mcpModule.Resource('desk://guide', odd))]],
  Prompt: [['', (odd) => startRoute(mcpModule.Prompt(odd))]],
}
const metrics: Places<typeof metricsModule> = {
  metrics: [['', (odd) => start({ imports: [metricsModule.metrics(odd)] })]],
}
const securityHeaders: Places<typeof securityHeadersModule> = {
  securityHeaders: [
    ['', (odd) => start({ imports: [securityHeadersModule.securityHeaders(odd)] })],
  ],
}
const testing: Places<typeof testingModule> = {
  TestApplication: [
    ['as', (odd) => testApp.as({ sub: 'a' }, odd).get('/')],
    ['reset', (odd) => testApp.reset(odd)],
  ],
  TestCaller: [
    ['get', (odd) => testApp.anonymous.get('/', odd)],
    ['head', (odd) => testApp.anonymous.head('/', odd)],
    ['post', (odd) => testApp.anonymous.post('/', {}, odd)],
    ['put', (odd) => testApp.anonymous.put('/', {}, odd)],
    ['patch', (odd) => testApp.anonymous.patch('/', {}, odd)],
    ['delete', (odd) => testApp.anonymous.delete('/', {}, odd)],
    ['graphql', (odd) => testApp.anonymous.graphql('{ a }', {}, odd)],
    ['events', (odd) => testApp.anonymous.events('/', odd).next()],
    ['subscribe', (odd) => testApp.anonymous.subscribe('{ a }', {}, odd).next()],
  ],
  TestClock: [],
  TestJobs: [],
  testApplication: [
    ['', (odd) => testingModule.testApplication(moduleOf({}), odd)],
    [
      'override',
      (odd) => {
        const override = [from({ provide: 'a', use: 1 }, odd)]
        return testingModule.testApplication(moduleOf({}), { override })
      },
    ],
  ],
}
const throttle: Places<typeof throttleModule> = {
  Throttle: [['', (odd) => startRoute(Get('/'), throttleModule.Throttle('5/m', odd))]],
  throttle: [
    ['', (odd) => start({ imports: [throttleModule.throttle(from({ limit: '5/m' }, odd))] })],
  ],
}
const tracing: Places<typeof tracingModule> = {
  tracing: [['', (odd) => start({ imports: [Reflect.apply(tracingModule.tracing, null, [odd])] })]],
}

const all: readonly (readonly [string, object, Readonly<globalThis.Record<string, Taking>>])[] = [
  ['filigree', filigree, index],
  ['filigree/access-log', accessLogModule, accessLog],
  ['filigree/admin', adminModule, admin],
  ['filigree/cache', cacheModule, cache],
  ['filigree/compress', compressModule, compress],
  ['filigree/health', healthModule, health],
  ['filigree/idempotent', idempotentModule, idempotent],
  ['filigree/jobs', jobsModule, jobs],
  ['filigree/mail', mailModule, mail],
  ['filigree/mcp', mcpModule, mcp],
  ['filigree/oidc', oidcModule, oidc],
  ['filigree/passkeys', passkeysModule, passkeys],
  ['filigree/metrics', metricsModule, metrics],
  ['filigree/security-headers', securityHeadersModule, securityHeaders],
  ['filigree/testing', testingModule, testing],
  ['filigree/throttle', throttleModule, throttle],
  ['filigree/tracing', tracingModule, tracing],
]

const cases = all.flatMap(([entry, , places]) =>
  Object.entries(places).flatMap(([name, sends]) =>
    sends.map(([place, send]): [string, Send] => [`${entry} ${name} ${place}`.trim(), send]),
  ),
)

describe('misspelt options', () => {
  beforeAll(async () => {
    testApp = await testingModule.testApplication(
      moduleOf({
        records: [Shelf],
        providers: [Work, Invitations],
        imports: [jobsModule.jobs(), mailModule.mail()],
      }),
    )
  })

  afterAll(() => testApp.close())

  it.each(all)('every export of %s is in the table', (_entry, exports, places) => {
    expect(Object.keys(places).sort()).toEqual(Object.keys(exports).sort())
  })

  it('are tested for every exported options type', async () => {
    const tried = new Set<string>()
    for (const [, send] of cases) tried.add(textOf(knownNames(await messageOf(send, ['zzzzzzzz']))))
    const untried = readOptionTypes().filter(
      ({ name, properties }) => !(name in otherwise) && !tried.has(textOf(properties)),
    )
    expect(untried).toEqual([])
  })

  it.each(cases)('of %s are refused, with the right name suggested', async (_place, send) => {
    const refusal = await messageOf(send, ['zzzzzzzz'])
    expect(refusal).toContain('"zzzzzzzz"')
    const validNames = knownNames(refusal)
    if (validNames.length === 0) expect(refusal).toContain('It has none.')
    for (const misspell of misspellings) {
      const odd = validNames.map(misspell)
      const fullRefusal = await messageOf(send, odd)
      // A call reports the first unknown option, a start reports all.
      const isCall = !fullRefusal.startsWith('Filigree cannot start')
      for (const [number, name] of validNames.entries()) {
        const message = isCall ? await messageOf(send, [odd[number] ?? '']) : fullRefusal
        expect(message).toContain(`"${odd[number]}"`)
        expect(message).toContain(`Did you mean "${name}"?`)
      }
    }
  })

  it('@Use without arguments and without a call is refused too', () => {
    expect(() => Use()).toThrow('@Use() names no interceptor.')
    expect(() => {
      class Bare {
        @(Use as unknown as MethodDecorator) @Get('/') read(): void {}
      }
      return Bare
    }).toThrow('@Use is not called with classes')
  })
})

/** The valid names that a refusal lists. */
function knownNames(refusal: string): string[] {
  const [, list = ''] = /(?:Options|Rules): ([^.]*)\./.exec(refusal) ?? []
  return list.split(', ').filter((name) => name !== '')
}

function textOf(names: readonly string[]): string {
  return names.toSorted().join()
}

interface OptionType {
  readonly name: string
  readonly properties: readonly string[]
}

/** The exported options types, including the options types of their properties. */
function readOptionTypes(): OptionType[] {
  const source = fileURLToPath(new URL('../../src/', import.meta.url))
  const entries = [
    `${source}index.ts`,
    ...readdirSync(`${source}modules`).map((name) => `${source}modules/${name}/${name}.ts`),
  ]
  const program = ts.createProgram(entries, {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    strict: true,
  })
  const checker = program.getTypeChecker()
  const found = new Map<string, OptionType>()
  const add = (symbol: ts.Symbol, type: ts.Type): void => {
    const names = type.getProperties().map(({ name }) => name)
    if (names.length === 0 || found.has(symbol.name)) return
    found.set(symbol.name, { name: symbol.name, properties: names })
    for (const property of type.getProperties()) {
      const declared = checker.getNonNullableType(checker.getTypeOfSymbol(property))
      for (const part of declared.isUnion() ? declared.types : [declared]) {
        const symbolOfPart = part.getSymbol()
        if (symbolOfPart?.name.endsWith('Options') === true) add(symbolOfPart, part)
      }
    }
  }
  for (const entry of entries) {
    const file = program.getSourceFile(entry)
    const module = file && checker.getSymbolAtLocation(file)
    for (const exported of module ? checker.getExportsOfModule(module) : []) {
      const isAlias = (exported.flags & ts.SymbolFlags.Alias) !== 0
      const symbol = isAlias ? checker.getAliasedSymbol(exported) : exported
      if (symbol.name.endsWith('Options')) add(symbol, checker.getDeclaredTypeOfSymbol(symbol))
    }
  }
  return [...found.values()]
}

/** Options types that are not tested by name, with the reason. */
const otherwise: Readonly<globalThis.Record<string, string>> = {
  AggregateOptions: '`view` is internal, and refused like an unknown option',
  ApplicationGraphQLOptions: '`database` and `log` are options of `new GraphQL()`',
  CountOptions: '`view` is internal, and refused like an unknown option',
  DeclaredOptions: 'a declaration of options',
  FindOptions: 'the part of FindOneOptions that lists have too',
  ListOptions: '`view` and `related` are internal, and refused like unknown options',
  SampleOptions: 'accepts every option of the protocol',
  TestOptions: '`listen`, `host`, `port` and `workers` are options of `bootstrap`',
}

/** Swaps the first two letters, or adds one letter. */
const misspellings: readonly ((name: string) => string)[] = [
  (name) => (name[0] === name[1] ? `${name}e` : `${name[1]}${name[0]}${name.slice(2)}`),
  (name) => `${name}x`,
]

/** @returns the message of the refusal */
async function messageOf(send: Send, names: readonly string[]): Promise<string> {
  try {
    const done: unknown = await send(Object.fromEntries(names.map((name) => [name, 1])) as Odd)
    if (done instanceof Object && 'close' in done) await (done as filigree.Application).close()
  } catch (error) {
    if (error instanceof Error) return error.message
  }
  return 'The options were accepted.'
}
