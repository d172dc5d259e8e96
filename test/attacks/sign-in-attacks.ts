/** A page of another site that signs its visitor in as the attacker. */
import { Auth, bootstrap, Controller, Get, Module, NoAuth, Post, reply } from 'filigree'
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

@Module({ controllers: [LoginController] })
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
        held: results.every((result) => result === '403'),
      }
    },
  },
]
