/** Sign-in with refresh tokens, as docs/authentication.md shows it. */
import { randomUUID } from 'node:crypto'
import {
  Auth,
  Controller,
  Field,
  HttpError,
  NoAuth,
  Post,
  reply,
  verifyPassword,
  type Claims,
  type Reply,
} from 'filigree'
import { Users } from './users.js'

// docs: begin
class Credentials {
  @Field('string') name!: string
  @Field('string', { maxLength: 200 }) password!: string
}

class Refresh {
  @Field('string') refreshToken!: string
}

interface Pair {
  readonly access: string
  readonly refreshToken: string
}

@Controller('/session')
export class SignIn {
  static inject = [Auth, Users]
  constructor(
    private readonly auth: Auth,
    private readonly users: Users,
  ) {}

  @Post('/', { body: Credentials })
  @NoAuth
  async signIn(body: Credentials): Promise<Reply> {
    const user = await this.users.named(body.name)
    const isRight = await verifyPassword(body.password, user?.password)
    if (user === undefined || !isRight) throw new HttpError(401, 'Wrong name or password.')
    return this.handOut(await this.makePair({ sub: String(user.id), jti: randomUUID() }))
  }

  @Post('/refresh', { body: Refresh })
  @NoAuth
  async refresh(body: Refresh): Promise<Reply> {
    const { refreshToken } = body
    // A repeated request gets the same pair for 30 seconds. Later, a copy ends the sign-in.
    const pair = await this.auth.exchange(refreshToken, { audience: 'refresh' }, (claims) =>
      this.makePair(claims),
    )
    if (pair === null) throw new HttpError(401, 'Sign in again.')
    return this.handOut(pair)
  }

  @Post('/end')
  async signOut(user: Claims): Promise<void> {
    await this.auth.revoke(user.jti ?? '')
  }

  /** All tokens of a sign-in have the same `jti` and `auth_time`. */
  private async makePair({ sub, jti, auth_time }: Claims): Promise<Pair> {
    const user = await this.users.find(Number(sub))
    if (user === null || user.blocked) throw new HttpError(401, 'Sign in again.')
    const signIn = { sub, jti, ...(auth_time === undefined ? {} : { auth_time }) }
    const access = await this.auth.getToken({ ...signIn, roles: user.roles }, { expiresIn: '15m' })
    const refreshToken = await this.auth.getToken(
      { ...signIn, once: randomUUID() },
      { audience: 'refresh', expiresIn: '30d' },
    )
    return { access, refreshToken }
  }

  private handOut({ access, refreshToken }: Pair): Reply {
    return reply({ refreshToken }).freshToken(access)
  }
}
// docs: end
