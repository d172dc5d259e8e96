/** `filigree/testing`: an application for tests, without a port and with a separate database, with callers, a clock, and everything that it logged and sent. Works in node:test, vitest and jest, also in parallel. */
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import {
  Clock,
  readSeconds,
  ApplicationState,
  Auth,
  bootstrap,
  inMemory,
  declareOptions,
  option,
  type Application,
  type BootstrapOptions,
  type Claims,
  type OptionsOf,
  type Repository,
} from '../../index.js'
import { TestCaller } from './caller.js'
import {
  recordingLog,
  recordStatements,
  type LogLine,
  type SentStatement,
  TestJobs,
  type MailRuntime,
  type TestMail,
} from './recorders.js'

export class TestClock extends Clock {
  override readonly isMoved = true
  #ahead = 0
  readonly #watchers = new Set<() => unknown>()

  override now(): number {
    return super.now() + this.#ahead
  }

  override moved(): number {
    return this.#ahead
  }

  /**
   * Advances the clock. Tokens, sessions, limits and cached responses use it immediately. The system clock and timers stay unchanged.
   *
   * @param time `'1h'`, `'90s'`, or seconds
   * @returns once everything that watches the clock has run
   * @throws {TypeError} the time is invalid
   */
  async advance(time: number | string): Promise<void> {
    const seconds = readSeconds(time)
    if (seconds === undefined) {
      throw new TypeError(
        `clock.advance: ${JSON.stringify(time)} is not a time. Write '1h', '90s', or seconds.`,
      )
    }
    await this.#move(this.#ahead + seconds * 1000)
  }

  /** Sets the clock, which continues from there. */
  async set(time: Date | number | string): Promise<void> {
    const timestamp = new Date(time).getTime()
    if (Number.isNaN(timestamp))
      throw new TypeError(`clock.set: ${String(time)} is not a valid date.`)
    await this.#move(timestamp - super.now())
  }

  /** Uses the system time again. */
  async reset(): Promise<void> {
    if (this.#ahead !== 0) await this.#move(0)
  }

  override onMove(watcher: () => unknown): () => void {
    this.#watchers.add(watcher)
    return () => {
      this.#watchers.delete(watcher)
    }
  }

  async #move(ahead: number): Promise<void> {
    this.#ahead = ahead
    for (const watcher of [...this.#watchers]) await watcher()
  }
}

let pem: string | undefined

/**
 * A private key as PEM text, one per process, because each takes a tenth of a second to create. It is never written to disk.
 */
function testKey(): string {
  pem ??= generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  }) as string
  return pem
}

/** A static key for `desk.operator`. */
function randomKey(): string {
  return randomBytes(24).toString('base64url')
}

export type { CallOptions, TestAnswer, TestFile, TestResult } from './caller.js'
export { TestCaller } from './caller.js'
export { TestJobs, type AddedEntry } from './recorders.js'
export type { TestMail } from './recorders.js'
export type { TestEvent } from './caller.js'
export type { LogLine, SentStatement } from './recorders.js'

type Override = NonNullable<BootstrapOptions['override']>[number]
type Token<T = unknown> = Parameters<Application['get']>[0] & (abstract new (...a: never[]) => T)

/** A replaced provider, in the form of `bootstrap` or of a module. */
export type TestOverride = Override | { readonly provide: Override[0]; readonly use: unknown }

export interface TestOptions extends Omit<
  BootstrapOptions,
  'listen' | 'port' | 'host' | 'workers' | 'override'
> {
  /** Replaces providers. A provider that no module has is rejected. */
  readonly override?: readonly TestOverride[]
}

const resetOptions = declareOptions({
  /** Empties the tables of a database that `testApplication` was given. Default false: they stay unchanged. */
  emptyTables: option.flag().default(false),
})

export interface ResetOptions extends OptionsOf<typeof resetOptions> {}

const overrideNames = declareOptions({
  provide: option.any<Override[0]>(),
  use: option.any<unknown>(),
})

/**
 * Starts an application for tests.
 *
 * Without `database` it uses an in-memory database, whatever `DATABASE_URL` says. Keys are created for the process and not stored. The log is recorded, and
 * passed only to a custom `logger`.
 *
 * @throws {DeclarationError} as `bootstrap`; also for unknown options and overrides
 */
export async function testApplication(
  module: Parameters<typeof bootstrap>[0],
  options: TestOptions = {},
): Promise<TestApplication> {
  for (const name of ['listen', 'port', 'host', 'workers']) {
    if (name in options) {
      throw new TypeError(`testApplication: ${name} cannot be set: tests open no port.`)
    }
  }
  const { override = [], database, logger, env = process.env, ...rest } = options
  const log: LogLine[] = []
  const clock = new TestClock()
  const operatorKey = env.APP_API_KEY?.trim() || randomKey()
  const app = await bootstrap(module, {
    ...rest,
    listen: false,
    database: database ?? inMemory,
    logger: recordingLog(log, typeof logger === 'object' ? logger : undefined),
    env: {
      ...env,
      NODE_ENV: env.NODE_ENV === undefined || env.NODE_ENV === '' ? 'test' : env.NODE_ENV,
      APP_API_KEY: operatorKey,
      APP_PRIVATE_KEY: env.APP_PRIVATE_KEY?.trim() || testKey(),
    },
    override: [[Clock, clock], ...override.map(toOverride)],
  })
  const isOwnDatabase = database === undefined || database === inMemory
  return new TestApplication({
    app,
    clock,
    log,
    operatorKey,
    isOwnDatabase,
    prefix: rest.basePath ?? '',
  })
}

function toOverride(value: TestOverride): Override {
  if (!('provide' in value)) return value
  overrideNames.check('testApplication override', value)
  return [value.provide, value.use]
}

interface TestParts {
  readonly app: Application
  readonly clock: TestClock
  readonly log: LogLine[]
  readonly operatorKey: string
  readonly isOwnDatabase: boolean
  readonly prefix: string
}

/** An application for tests, which `testApplication` returns. */
export class TestApplication {
  /** The application itself. */
  readonly app: Application
  /** The clock: `await desk.clock.advance('1h')`. */
  readonly clock: TestClock
  /** The log lines since the last reset, including debug. */
  readonly log: readonly LogLine[]
  /** The SQL statements since the last reset, except those on tables of the framework. */
  readonly statements: readonly SentStatement[]
  /** The jobs: `await desk.jobs.run()`. Needs `filigree/jobs`. */
  readonly jobs: TestJobs
  /** A caller without a token. */
  readonly anonymous: TestCaller
  /** A caller with the static key. */
  readonly operator: TestCaller
  readonly #parts: TestParts
  readonly #state: ApplicationState
  readonly #callers = new Set<WeakRef<TestCaller>>()
  readonly #statements: SentStatement[] = []
  readonly #stopRecording: () => void
  #closed: Promise<void> | undefined

  constructor(parts: TestParts) {
    const { app, clock, log, operatorKey } = parts
    this.#parts = parts
    this.app = app
    this.clock = clock
    this.log = log
    this.statements = this.#statements
    this.#state = app.get(ApplicationState)
    this.#stopRecording = recordStatements(this.#state.database, this.#statements)
    this.jobs = new TestJobs((token) => app.get(token))
    this.anonymous = this.#caller(undefined)
    this.operator = this.#caller(() => operatorKey)
  }

  /** The mails since the last reset whose jobs have run. Needs `filigree/mail`. */
  get mail(): readonly TestMail[] {
    return [...this.app.get<MailRuntime>('filigree.mail').caught]
  }

  /**
   * Creates a caller with a token of this application and separate cookies.
   *
   * @param claims of the token, for example `{ sub: '7', roles: ['agent'] }`
   * @param options `expiresIn` of `auth.getToken`
   */
  as(claims: Claims, options?: Parameters<Auth['getToken']>[1]): TestCaller {
    return this.#caller(() => this.app.get(Auth).getToken(claims, options), true)
  }

  /** The instance of a provider. */
  get<T>(token: Token<T> | string | symbol): T {
    return this.app.get<T>(token)
  }

  /** The repository of a record, without access rules. */
  records<T extends object>(type: new () => T): Repository<T> {
    const { database } = this.#state
    if (database === undefined) throw new Error('This application has no database.')
    return database.records(type)
  }

  /**
   * Resets the application between tests: empties tables, log, statements, cookies, rate limits and cached responses, and resets the clock. Calls `[resetState]()` of
   * providers that have it.
   *
   * @throws {Error} for a database that `testApplication` was given, unless `emptyTables` is true
   */
  async reset(options: ResetOptions = {}): Promise<void> {
    resetOptions.check('reset', options)
    const { emptyTables } = resetOptions.read(options)
    if (!this.#parts.isOwnDatabase && !emptyTables) {
      throw new Error(
        'reset would empty the tables of the database that testApplication was given. ' +
          'If nothing in it is needed, call reset({ emptyTables: true }).',
      )
    }
    await this.#state.database?.empty()
    await this.#state.reset()
    await this.clock.reset()
    for (const caller of this.#callers) caller.deref()?.forget()
    this.#parts.log.length = 0
    this.#statements.length = 0
  }

  /** Closes the application. A second call does nothing. */
  close(): Promise<void> {
    this.#closed ??= this.app.close().finally(this.#stopRecording)
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #caller(token: (() => string | Promise<string>) | undefined, rotates = false): TestCaller {
    const { app, clock, prefix } = this.#parts
    const graphqlPath = (): string => {
      const path = app.graphql.routes[0]?.path
      if (path === undefined) throw new Error('The GraphQL of this application has no route.')
      return prefix.replace(/\/$/, '') + path
    }
    const now = (): number => clock.now()
    const caller = new TestCaller({ app, now, graphqlPath, token, rotates })
    this.#callers.add(new WeakRef(caller))
    return caller
  }
}
