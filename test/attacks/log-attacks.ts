/** Credentials that a client sends must not be in the log. */
import { bootstrap, Controller, Get, Module } from 'filigree'
import { accessLog } from 'filigree/access-log'
import type { Attack } from './attack.js'

const secret = 'hush-1234'

const headers = [
  ...['authentication', 'authorization', 'cf-access-jwt-assertion', 'cookie', 'dpop', 'x-auth'],
  ...['x-amzn-oidc-data', 'x-goog-iap-jwt-assertion', 'x-hub-signature-256', 'x-key', 'x-shared'],
]

const queries = [
  `variables=${encodeURIComponent(JSON.stringify({ password: secret }))}`,
  `query=${encodeURIComponent(`{ signIn(password: "${secret}") { id } }`)}`,
]

@Controller('/')
class Pages {
  @Get('/') show(): string {
    return 'shown'
  }
}

@Module({ imports: [accessLog({ headers: true, query: true })], controllers: [Pages] })
class App {}

const logged: Attack = {
  name: 'credentials in the access log',
  before: 'the log had 11 of 13 credentials',
  run: async () => {
    const lines: string[] = []
    const write = (...parts: unknown[]): void => {
      lines.push(JSON.stringify(parts))
    }
    const logger = { debug: write, info: write, warn: write, error: write }
    const app = await bootstrap(App, { listen: false, logger: logger as never, env: {} })
    for (const name of headers) await app.inject({ url: '/', headers: { [name]: secret } })
    for (const query of queries) await app.inject(`/?${query}`)
    await app.close()
    const loggedCount = lines.filter((line) => line.includes(secret)).length
    const total = headers.length + queries.length
    const requests = lines.filter((line) => line.includes('"request"')).length
    return {
      now: `the log has ${loggedCount} of ${total} credentials`,
      isBlocked: loggedCount === 0 && requests === total,
    }
  },
}

export const attacks: readonly Attack[] = [logged]
