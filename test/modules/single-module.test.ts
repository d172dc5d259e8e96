/** Each module works in an application with nothing but one open route. */
import { expect, it } from '@jest/globals'
import { bootstrap, Controller, Get, Module } from '../../src/index.js'
import { accessLog } from '../../src/modules/access-log/access-log.js'
import { compress } from '../../src/modules/compress/compress.js'
import { health } from '../../src/modules/health/health.js'
import { idempotent } from '../../src/modules/idempotent/idempotent.js'
import { jobs } from '../../src/modules/jobs/jobs.js'
import { passkeys } from '../../src/modules/passkeys/passkeys.js'
import { oidc } from '../../src/modules/oidc/oidc.js'
import { metrics } from '../../src/modules/metrics/metrics.js'
import { securityHeaders } from '../../src/modules/security-headers/security-headers.js'
import { throttle } from '../../src/modules/throttle/throttle.js'
import { tracing } from '../../src/modules/tracing/tracing.js'
import type { Class } from '../public-types.js'

@Controller('/items')
class ItemController {
  @Get('/<id:int>')
  show(id: number) {
    return { id }
  }
}

class Users {
  signIn() {
    return null
  }
}

const inMemory = 'sqlite::memory:'

function passkeysAlone(): Class {
  @Module({ providers: [Users], imports: [passkeys({ name: 'Desk', signIn: [Users, 'signIn'] })] })
  class PasskeysModule {}
  return PasskeysModule
}

function oidcAlone(): Class {
  @Module({
    providers: [Users],
    imports: [
      oidc({
        name: 'one',
        issuer: 'https://id.example',
        clientId: 'desk',
        signIn: [Users, 'signIn'],
      }),
    ],
  })
  class OidcModule {}
  return OidcModule
}

it.each<[string, () => Class, string | undefined]>([
  ['accessLog', () => accessLog(), undefined],
  ['compress', () => compress(), undefined],
  ['health', () => health(), undefined],
  ['idempotent', () => idempotent(), inMemory],
  ['jobs', () => jobs(), inMemory],
  ['jobs that work', () => jobs({ work: true }), inMemory],
  ['metrics', () => metrics(), undefined],
  ['oidc', () => oidcAlone(), undefined],
  ['passkeys', () => passkeysAlone(), undefined],
  ['securityHeaders', () => securityHeaders(), undefined],
  ['throttle in memory', () => throttle({ limit: '100/m' }), undefined],
  ['throttle in memory, by user', () => throttle({ limit: '100/m', by: 'user' }), undefined],
  ['throttle in the database', () => throttle({ limit: '100/m', store: 'database' }), inMemory],
  ['tracing', () => tracing(), undefined],
])('%s', async (_name, make, database) => {
  @Module({ controllers: [ItemController], imports: [make()] })
  class AppModule {}
  const options = { listen: false, logger: false, env: {}, database }
  await using app = await bootstrap(AppModule, options)
  const response = await app.inject('/items/7')
  expect([response.status, response.json()]).toEqual([200, { id: 7 }])
})
