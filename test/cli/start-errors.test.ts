/** What stops a start in production is a finding of `doctor --production`. */
import { expect, it } from '@jest/globals'
import { bootstrap, Controller, Get, Module, PublicUrl, type ModuleOptions } from 'filigree'
import { jobs } from 'filigree/jobs'
import { mail } from 'filigree/mail'
import { oidc } from 'filigree/oidc'
import { Passkey, passkeys } from 'filigree/passkeys'
import { diagnose } from '../../src/cli/commands/doctor.js'

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

const starts: readonly [string, ModuleOptions, Record<string, string>][] = [
  ['mail: transport is required', { imports: [jobs(), mail({ transport: undefined })] }, {}],
  ['mail: catch: true prevents', { imports: [jobs(), mail({ catch: true })] }, {}],
  ['mail: it needs filigree/jobs', { imports: [mail({ transport: 'smtp://127.0.0.1:1' })] }, {}],
  [
    'passkeys require a host name',
    { imports: [passkeys({ name: 'x', credentials: Passkey, signIn })], providers: [Users] },
    { PUBLIC_URL: 'https://192.0.2.1' },
  ],
  [
    'there is no private key',
    { imports: [oidc({ ...provider, signIn })], providers: [Users] },
    publicUrl,
  ],
  ['Production has no public address', { controllers: [Links] }, {}],
  ['PORT', { controllers: [Links] }, { ...publicUrl, PORT: 'many' }],
]

it.each(starts)('“%s” is a finding of doctor', async (message, options, variables) => {
  @Module(options)
  class App {}
  const settings = {
    ...{ listen: false, logger: false, database: 'sqlite::memory:', auth: { keys: false } },
    env: { NODE_ENV: 'production', ...variables },
  } as const
  await expect(bootstrap(App, settings)).rejects.toThrow(message)
  const application = { module: App, options: settings, path: '', exports: undefined }
  const write = (): Promise<void> => Promise.resolve()
  const terminal = { cwd: process.cwd(), out: write, err: write }
  const findings = await diagnose(application, true, terminal)
  const faults = findings.filter(({ state }) => state === 'fault').map(({ what }) => what)
  expect(faults.join('\n')).toContain(message)
})
