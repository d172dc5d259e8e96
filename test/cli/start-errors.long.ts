/** What stops a start in production is a finding of `doctor --production`. */
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, it } from '@jest/globals'
import {
  bootstrap,
  Config,
  Controller,
  createDecorator,
  Field,
  Get,
  GraphQL,
  Module,
  Post,
  PublicUrl,
  Record,
  type BootstrapOptions,
  type ModuleOptions,
} from 'filigree'
import { admin } from 'filigree/admin'
import { jobs } from 'filigree/jobs'
import { mail } from 'filigree/mail'
import { mcp, Tool } from 'filigree/mcp'
import { oidc } from 'filigree/oidc'
import { Passkey, passkeys } from 'filigree/passkeys'
import { findPortProblem } from '../../src/bootstrap/port-problems.js'
import { diagnose } from '../../src/cli/commands/doctor.js'
import type { Finding } from '../../src/cli/commands/doctor-checks.js'
import { errorCodes } from '../../src/errors/error-codes.js'
import { faultyDeclarations } from '../bootstrap/faulty-declarations.js'
import { freePort } from '../free-port.js'
import type { Class } from '../public-types.js'
import { runIn } from './run-in.js'

const otherProgram = createServer().listen(0)
await once(otherProgram, 'listening')
const busyPort = (otherProgram.address() as AddressInfo).port

afterAll(() => {
  otherProgram.close()
})

class Users {
  signIn(): object {
    return { sub: '7' }
  }
}

@Controller('/links')
class Links {
  static readonly inject = [PublicUrl]
  readonly publicUrl: PublicUrl
  constructor(publicUrl: PublicUrl) {
    this.publicUrl = publicUrl
  }

  @Get('/')
  list(): string[] {
    return [this.publicUrl.href]
  }
}

const signIn = [Users, 'signIn'] as const
const provider = { name: 'x', issuer: 'https://login.example', clientId: 'a', clientSecret: 'b' }
const publicUrl = { PUBLIC_URL: 'https://desk.example' }

@Controller('/sign-in')
class SignIn {
  @Post('/')
  enter(): object {
    return {}
  }
}

@Controller('/tools')
class Tools {
  @Get('/one')
  @Tool({ name: 'count' })
  one(): number {
    return 1
  }

  @Get('/two')
  @Tool({ name: 'count' })
  two(): number {
    return 2
  }
}

@Config
class MailSettings {
  @Field('string') mailHost!: string
}

@Record
class Lamp {
  @Field('id') id!: number
}

@Record
class Shade {
  @Field('id') id!: number
}

@Controller('/misplaced')
class Misplaced {
  @(createDecorator('Mine', () => ({ check: () => [{ message: 'wrong place', remedy: '' }] }))())
  @Get('/')
  show(): string {
    return ''
  }
}

const unknownType = new GraphQL()
unknownType.schema.addQuery('color', { type: 'Color', resolve: () => null })
const withoutDocuments = new GraphQL({ documents: './nowhere.json' })
withoutDocuments.schema.addQuery('one', { type: 'Int', resolve: () => null })
for (const graphql of [unknownType, withoutDocuments]) graphql.registerRoute()

const desk = (path: string): ModuleOptions => ({
  imports: [admin({ path: '/desk', roles: 'admin', records: [Lamp], login: { path } })],
  controllers: [SignIn],
})
const withLinks = { controllers: [Links] }
const listening = { listen: true } as const

interface Start {
  readonly module: ModuleOptions
  readonly variables?: Readonly<Record<string, string>>
  readonly options?: BootstrapOptions
}

const starts: readonly (readonly [code: string, message: string, Start])[] = [
  [
    'INVALID_OPTION',
    'mail: transport is required',
    { module: { imports: [jobs(), mail({ transport: undefined })] } },
  ],
  [
    'INVALID_OPTION',
    'mail: catch: true prevents',
    { module: { imports: [jobs(), mail({ catch: true })] } },
  ],
  [
    'MAIL_WITHOUT_JOBS',
    'mail: it needs filigree/jobs',
    { module: { imports: [mail({ transport: 'smtp://127.0.0.1:1' })] } },
  ],
  [
    'INVALID_OPTION',
    'passkeys require a host name',
    {
      module: {
        imports: [passkeys({ name: 'x', credentials: Passkey, signIn })],
        providers: [Users],
      },
      variables: { PUBLIC_URL: 'https://192.0.2.1' },
    },
  ],
  [
    'AUTH_KEYS',
    'there is no private key',
    {
      module: { imports: [oidc({ ...provider, signIn })], providers: [Users] },
      variables: publicUrl,
    },
  ],
  ['PUBLIC_URL_MISSING', 'Production has no public address', { module: withLinks }],
  [
    'INVALID_ENVIRONMENT',
    'PUBLIC_URL is http',
    { module: withLinks, variables: { PUBLIC_URL: 'http://desk.example' } },
  ],
  ['INVALID_ENVIRONMENT', 'PORT', { module: withLinks, variables: { ...publicUrl, PORT: 'many' } }],
  ['AUTH_KEYS', 'Production has no keys', { module: {}, options: { auth: {} } }],
  [
    'INVALID_OPTION',
    'admin: login.path is /enter, but the application has no route',
    { module: desk('/enter') },
  ],
  ['INVALID_OPTION', 'does not describe a body', { module: desk('/sign-in') }],
  [
    'TOOL_DECLARATION',
    'is the second tool count',
    { module: { imports: [mcp()], controllers: [Tools] }, variables: publicUrl },
  ],
  ['INVALID_ENVIRONMENT', 'MAIL_HOST', { module: { providers: [MailSettings] } }],
  ['DECORATOR_CHECK', 'wrong place', { module: { controllers: [Misplaced] } }],
  ['UNKNOWN_TYPE', 'unknown type "Color"', { module: { graphql: [unknownType] } }],
  ['INVALID_DOCUMENTS', 'nowhere.json', { module: { graphql: [withoutDocuments] } }],
  ['SCHEMA_DIFFERS', 'Table lamp is missing', { module: { records: [Lamp] } }],
  ['SCHEMA_DIFFERS', '2 tables are missing: lamp, shade.', { module: { records: [Lamp, Shade] } }],
  [
    'HOST_UNKNOWN',
    'is not an address of this machine',
    { module: {}, options: { ...listening, host: '192.0.2.1', port: 3999 } },
  ],
  [
    'PORT_TAKEN',
    'is used by another program',
    { module: {}, options: { ...listening, host: '127.0.0.1', port: busyPort } },
  ],
  [
    'PORT_TAKEN',
    'is used by another program',
    { module: {}, options: { ...listening, port: busyPort } },
  ],
  [
    'DATABASE_UNREACHABLE',
    'connect ECONNREFUSED',
    { module: {}, options: { database: 'postgres://desk@127.0.0.1:9/desk?connectTimeout=500' } },
  ],
  [
    'DATABASE_UNREADABLE',
    'start-errors.long.ts',
    { module: {}, options: { database: `sqlite:${fileURLToPath(import.meta.url)}` } },
  ],
  ['DATABASE_URL', 'mysql', { module: {}, options: { database: 'mysql://desk@127.0.0.1/desk' } }],
]

const terminal = {
  cwd: tmpdir(),
  out: () => Promise.resolve(),
  err: () => Promise.resolve(),
}

/** What `doctor --production` finds that must be fixed. */
async function findFaults(module: Class, options: BootstrapOptions): Promise<Finding[]> {
  const application = { module, options, path: '', exports: undefined }
  const findings = await diagnose(application, true, terminal)
  return findings.filter(({ state }) => state === 'fault')
}

it.each(starts)('%s, “%s”, is a finding of doctor', async (code, message, start) => {
  @Module(start.module)
  class App {}
  const settings: BootstrapOptions = {
    ...{ listen: false, logger: false, database: 'sqlite::memory:', auth: { keys: false } },
    env: { NODE_ENV: 'production', ...start.variables },
    ...start.options,
  }
  await expect(bootstrap(App, settings)).rejects.toThrow(message)
  expect(await findFaults(App, settings)).toContainEqual(
    expect.objectContaining({ code, what: expect.stringContaining(message) }),
  )
})

/** `doctor` makes no instances. The compiler rejects these, and the first start in development does. */
const needsInstances: ReadonlySet<string> = new Set(['NOT_AN_INTERCEPTOR', 'INTERCEPTOR_APPLIES'])
const declarations = faultyDeclarations.filter(([code]) => !needsInstances.has(code))

it.each(declarations)(
  '%s of a declaration is a finding of doctor',
  async (code, remedy, faulty) => {
    const { module, options } = faulty()
    const settings = {
      ...{ listen: false, logger: false, auth: { keys: false }, publicUrl: publicUrl.PUBLIC_URL },
      env: {},
      ...options,
    }
    expect(await findFaults(module, settings as BootstrapOptions)).toContainEqual(
      expect.objectContaining({ code, remedy: expect.stringMatching(remedy) }),
    )
  },
)

it.each([
  ['IMPORT_CYCLE', 'main.ts', 'Write () => PeopleModule in the decorator'],
  ['NOT_DEFINED_YET', 'one-file.ts', 'Move DeclaredBelow up'],
])('%s stops the load, so doctor gives its fix', async (_code, name, fix) => {
  const file = fileURLToPath(new URL(`../bootstrap/fixtures/import-cycle/${name}`, import.meta.url))
  const result = await runIn('.', ['doctor', '--production', '--module', file])
  expect(result.code).not.toBe(0)
  expect(result.err).toContain(fix)
})

/** Codes of the start that no test of this file makes, with the reason. */
const others: Readonly<globalThis.Record<string, string>> = {
  UNKNOWN_OVERRIDE: 'an option of tests',
  INVALID_SCHEMA: "the text of GraphQL's own check",
  UNDEFINED_IN_FILTER: 'thrown by a call',
  SKIP_IN_FILTER: 'thrown by a call',
  STORED_VALUE: 'thrown by a call',
  MIGRATION_FAILED: 'of filigree migrate',
  MIGRATION_CHANGED: 'of filigree migrate',
  MIGRATION_MISSING: 'of filigree migrate',
  COPY_FAILED: 'of filigree copy',
  SCHEMA_LOCKED: 'another process changes the schema at this moment',
  DATABASE_POOLED: 'needs a pooler, and a provider that follows changes: pooler.slow.ts',
  TABLE_MISPLACED: 'needs a server that distributes tables: misplaced.citus.ts',
  PORT_REFUSED: 'needs a user without rights',
  CLIENT_MISSING: 'needs a package that is not built: client-script.test.ts',
  SECOND_COPY: 'needs a second installation: second-copy.long.ts',
  DATABASE_DRIVER_MISSING: 'missing-packages.long.ts asks doctor',
  MAIL_DRIVER_MISSING: 'missing-packages.long.ts asks doctor',
  OIDC_CLIENT_MISSING: 'missing-packages.long.ts asks doctor',
  PASSKEYS_PACKAGE_MISSING: 'missing-packages.long.ts asks doctor',
  SOCKETS_DRIVER_MISSING: 'missing-packages.long.ts asks doctor',
}

it('every code that stops a start is made here, or has a reason', () => {
  const pages = [
    'modules-and-providers',
    'options-and-environment',
    'routes-and-access',
    'interceptors-decorators-arguments',
    'fields',
    'records-and-database',
    'graphql-schema',
  ].map((heading) => `errors.md#${heading}`)
  const codes = Object.entries(errorCodes).filter(([, { page }]) => pages.includes(page))
  const made = new Set([
    ...[...starts, ...faultyDeclarations].map(([code]) => code),
    ...['IMPORT_CYCLE', 'NOT_DEFINED_YET', ...Object.keys(others)],
  ])
  expect(codes.map(([code]) => code).filter((code) => !made.has(code))).toEqual([])
})

it('finds nothing at a free port', async () => {
  await expect(findPortProblem({ host: '::', port: await freePort() })).resolves.toBeUndefined()
  await expect(findPortProblem({ host: '::', port: 0 })).resolves.toBeUndefined()
})
