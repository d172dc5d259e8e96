/** What stops a start in production is a finding of `doctor --production`. */
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { afterAll, expect, it } from '@jest/globals'
import {
  bootstrap,
  Config,
  Controller,
  Field,
  Get,
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
import { freePort } from '../free-port.js'

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

const starts: readonly (readonly [string, Start])[] = [
  [
    'mail: transport is required',
    { module: { imports: [jobs(), mail({ transport: undefined })] } },
  ],
  ['mail: catch: true prevents', { module: { imports: [jobs(), mail({ catch: true })] } }],
  [
    'mail: it needs filigree/jobs',
    { module: { imports: [mail({ transport: 'smtp://127.0.0.1:1' })] } },
  ],
  [
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
    'there is no private key',
    {
      module: { imports: [oidc({ ...provider, signIn })], providers: [Users] },
      variables: publicUrl,
    },
  ],
  ['Production has no public address', { module: withLinks }],
  ['PUBLIC_URL is http', { module: withLinks, variables: { PUBLIC_URL: 'http://desk.example' } }],
  ['PORT', { module: withLinks, variables: { ...publicUrl, PORT: 'many' } }],
  ['Production has no keys', { module: {}, options: { auth: {} } }],
  ['admin: login.path is /enter, but the application has no route', { module: desk('/enter') }],
  ['does not describe a body', { module: desk('/sign-in') }],
  [
    'is the second tool count',
    { module: { imports: [mcp()], controllers: [Tools] }, variables: publicUrl },
  ],
  ['MAIL_HOST', { module: { providers: [MailSettings] } }],
  ['Table lamp is missing', { module: { records: [Lamp] } }],
  ['2 tables are missing: lamp, shade.', { module: { records: [Lamp, Shade] } }],
  [
    'is not an address of this machine',
    { module: {}, options: { ...listening, host: '192.0.2.1', port: 3999 } },
  ],
  [
    'is used by another program',
    { module: {}, options: { ...listening, host: '127.0.0.1', port: busyPort } },
  ],
  ['is used by another program', { module: {}, options: { ...listening, port: busyPort } }],
  [
    'connect ECONNREFUSED',
    { module: {}, options: { database: 'postgres://desk@127.0.0.1:9/desk?connectTimeout=500' } },
  ],
  ['mysql', { module: {}, options: { database: 'mysql://desk@127.0.0.1/desk' } }],
]

it.each(starts)('“%s” is a finding of doctor', async (message, { module, variables, options }) => {
  @Module(module)
  class App {}
  const settings: BootstrapOptions = {
    ...{ listen: false, logger: false, database: 'sqlite::memory:', auth: { keys: false } },
    env: { NODE_ENV: 'production', ...variables },
    ...options,
  }
  await expect(bootstrap(App, settings)).rejects.toThrow(message)
  const application = { module: App, options: settings, path: '', exports: undefined }
  const write = (): Promise<void> => Promise.resolve()
  const terminal = { cwd: process.cwd(), out: write, err: write }
  const findings = await diagnose(application, true, terminal)
  const faults = findings.filter(({ state }) => state === 'fault').map(({ what }) => what)
  expect(faults.join('\n')).toContain(message)
})

it('finds nothing at a free port', async () => {
  await expect(findPortProblem({ host: '::', port: await freePort() })).resolves.toBeUndefined()
  await expect(findPortProblem({ host: '::', port: 0 })).resolves.toBeUndefined()
})
