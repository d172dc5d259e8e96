/** A page of another site that signs its visitor in as the attacker. */
import {
  Auth,
  bootstrap,
  Controller,
  Get,
  Module,
  NoAuth,
  Post,
  reply,
  type Session,
} from 'filigree'
import type { Attack } from './attack.js'

@Controller
class LoginController {
  static inject = [Auth]
  constructor(private readonly auth: Auth) {}

  @Post('/login')
  @NoAuth
  async login() {
    return reply({}).freshToken(await this.auth.getToken({ sub: 'attacker' }))
  }

  @Get('/link')
  @NoAuth
  async link() {
    return reply({}).freshToken(await this.auth.getToken({ sub: 'attacker' }))
  }
}

@Controller('/session')
class SessionController {
  @Post('/login')
  @NoAuth
  login(session: Session) {
    session.user = 'attacker'
    return {}
  }

  @Post('/again')
  @NoAuth
  repeat(session: Session) {
    session.user = 'attacker'
    session.regenerate()
    return {}
  }
}

@Module({ controllers: [LoginController, SessionController] })
class LoginModule {}

const crossSite: readonly Readonly<Record<string, string>>[] = [
  { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
  { 'sec-fetch-site': 'cross-site', origin: 'null' },
  { 'sec-fetch-site': 'cross-site' },
  { origin: 'https://evil.example' },
  { origin: 'null' },
  { origin: 'http://localhost.evil.example' },
]

export const attacks: readonly Attack[] = [
  {
    name: 'sign-in: a form of another site posts to the login',
    before: "200, and the attacker's token in the cookie of the visitor",
    async run() {
      const options = { listen: false, logger: false, env: {}, auth: { cookie: true } } as const
      await using app = await bootstrap(LoginModule, options)
      const results: string[] = []
      for (const headers of crossSite) {
        for (const [method, url] of [
          ['POST', '/login'],
          ['GET', '/link'],
        ] as const) {
          const form = { 'content-type': 'application/x-www-form-urlencoded', ...headers }
          const answer = await app.inject({ method, url, headers: form, body: 'name=attacker' })
          const cookie = answer.headers['set-cookie'] === undefined ? '' : ' with the cookie'
          results.push(`${answer.status}${cookie}`)
        }
      }
      return {
        now: `${[...new Set(results)].join(', ')} in ${results.length} attempts`,
        isBlocked: results.every((result) => result === '403'),
      }
    },
  },
  {
    name: 'sign-in: a form of another site begins a session',
    before: "200, and the attacker's session instead of the visitor's",
    async run() {
      await using app = await bootstrap(LoginModule, { listen: false, logger: false, env: {} })
      const ownLogin = await app.inject({ method: 'POST', url: '/session/login' })
      const cookie = (ownLogin.headers['set-cookie'] ?? '').split(';', 1)[0] ?? ''
      const results: string[] = []
      for (const headers of crossSite) {
        for (const [url, mine] of [
          ['/session/login', {}],
          ['/session/again', {}],
          ['/session/again', { cookie }],
        ] as const) {
          const form = {
            'content-type': 'application/x-www-form-urlencoded',
            ...('sec-fetch-site' in headers && { 'sec-fetch-mode': 'navigate' }),
            ...headers,
            ...mine,
          }
          const answer = await app.inject({ method: 'POST', url, headers: form, body: 'a=b' })
          const set = answer.headers['set-cookie'] === undefined ? '' : ' with the cookie'
          results.push(`${answer.status}${set}`)
        }
      }
      return {
        now: `${[...new Set(results)].join(', ')} in ${results.length} attempts`,
        isBlocked: cookie !== '' && results.every((result) => result === '403'),
      }
    },
  },
]
