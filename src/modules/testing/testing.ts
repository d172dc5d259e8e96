/**
 * `filigree/testing`: a whole application for tests, without a port, on a database of its own, with callers, a clock, and
 * what it has logged and sent. Works in node:test, vitest and jest, several at once.
 */

import { generateKeyPairSync, randomBytes } from 'node:crypto'
import {
  Clock,
  readSeconds,
  ApplicationState,
  Auth,
  bootstrap,
  inMemory,
  rejectUnknownOptions,
  type Application,
  type BootstrapOptions,
  type Claims,
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

/** The time of a tested application: the system's, and what the test has moved it. */

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
   * Moves the time on: tokens, sessions, limits and kept answers see it at once. The system's time and timers stay as
   * they are.
   *
   * @param time `'1h'`, `'90s'`, or seconds
   * @returns once everything that waits for the time has looked at it
   * @throws {TypeError} for what is no time
   */
  async advance(time: number | string): Promise<void> {
    const seconds = readSeconds(time)
    if (seconds === undefined) {
      throw new TypeError(
        `clock.advance: ${JSON.stringify(time)} is no time. Write '1h', '90s', or seconds.`,
      )
    }
    await this.#move(this.#ahead + seconds * 1000)
  }

  /** Sets the time; it goes on from there. */
  async set(time: Date | number | string): Promise<void> {
    const timestamp = new Date(time).getTime()
    if (Number.isNaN(timestamp)) throw new TypeError(`clock.set: ${String(time)} is no moment.`)
    await this.#move(timestamp - super.now())
  }

  /** Goes by the system's time again. */
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

/** Keys that live as long as the process: a test writes none to the disk. */

let pem: string | undefined

/** A private key as PEM text; one for all applications of the process, because each takes a tenth of a second to make. */
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

/** A replaced provider: as `bootstrap` takes it, or in the form in which modules provide. */
export type TestOverride = Override | { readonly provide: Override[0]; readonly use: unknown }

export interface TestOptions extends Omit<
  BootstrapOptions,
  'listen' | 'port' | 'host' | 'workers' | 'override'
> {
  /** Replaces providers. One that no module has is refused. */
  readonly override?: readonly TestOverride[]
}

export interface ResetOptions {
  /** Empties the tables of a database that `testApplication` was given. Default false: they are not touched. */
  readonly emptyTables?: boolean
}

/**
 * Starts an application for tests.
 *
 * Without `database` it gets a database in memory, whatever `DATABASE_URL` says; keys are made for the process and
 * written nowhere. The log is recorded, and shown only to a `logger` of your own.
 *
 * @throws {DeclarationError} as `bootstrap`; also for unknown options and overrides
 */
export async function testApplication(
  module: Parameters<typeof bootstrap>[0],
  options: TestOptions = {},
): Promise<TestApplication> {
  for (const name of ['listen', 'port', 'host', 'workers']) {
    if (name in options) {
      throw new TypeError(`testApplication: ${name} has no meaning here: no port is opened.`)
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
  refuseUnknownOptions(value, ['provide', 'use'], 'testApplication override')
  return [value.provide, value.use]
}

/** @throws {TypeError} an unknown option */
function refuseUnknownOptions(value: object, optionNames: readonly string[], where: string): void {
  for (const { message, remedy } of rejectUnknownOptions(value, optionNames, where))
    throw new TypeError(`${message} ${remedy}`)
}

interface TestParts {
  readonly app: Application
  readonly clock: TestClock
  readonly log: LogLine[]
  readonly operatorKey: string
  readonly isOwnDatabase: boolean
  readonly prefix: string
}

/** What `testApplication` returns. */
export class TestApplication {
  /** The application itself. */
  readonly app: Application
  /** Its time: `await desk.clock.advance('1h')`. */
  readonly clock: TestClock
  /** The lines that it has logged since the last reset, debug included. */
  readonly log: readonly LogLine[]
  /** The statements that its database was sent since the last reset, but those of the framework's own tables. */
  readonly statements: readonly SentStatement[]
  /** Its jobs: `await desk.jobs.run()`. Needs `filigree/jobs`. */
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

  /** The mails that were sent since the last reset, once their jobs have run. Needs `filigree/mail`. */
  get mail(): readonly TestMail[] {
    return [...this.app.get<MailRuntime>('filigree.mail').caught]
  }

  /**
   * A caller with a token of this application. Each call makes a new one, with cookies of its own.
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

  /** The repository of a record, as the program sees it: without anybody's rights. */
  records<T extends object>(type: new () => T): Repository<T> {
    const { database } = this.#state
    if (database === undefined) throw new Error('This application has no database.')
    return database.records(type)
  }

  /**
   * Back to the beginning, between tests: empties tables, log, statements, cookies, counts of limits and kept answers,
   * and takes the clock back. Calls `[resetState]()` of providers that have it.
   *
   * @throws {Error} for a database that `testApplication` was given, unless `emptyTables` says so
   */
  async reset(options: ResetOptions = {}): Promise<void> {
    refuseUnknownOptions(options, ['emptyTables'], 'reset')
    const { emptyTables = false } = options
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

  /** Ends the application. Calling it again does nothing. */
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
