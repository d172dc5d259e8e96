/** Creating an account, signing in and signing out. */
import {
  Auth,
  Controller,
  Database,
  Field,
  Get,
  hashPassword,
  HttpError,
  NoAuth,
  Post,
  reply,
  Secured,
  verifyPassword,
  type Claims,
  type Row,
} from 'filigree'
import { Throttle } from 'filigree/throttle'
import { Account } from './records.js'

export class Credentials {
  @Field('string', { minLength: 2, maxLength: 80, example: 'ann' }) name!: string
  @Field('string', { minLength: 8, maxLength: 200, example: 'a long password' }) password!: string
}

/**
 * Both routes respond with a token: in a cookie for browsers, and in the header FreshToken for programs, which send it as
 * `Authorization: Bearer …`.
 */
@Controller
@NoAuth
export class AccountController {
  static inject = [Auth, Database]
  constructor(
    private readonly auth: Auth,
    private readonly database: Database,
  ) {}

  @Post('/accounts', { body: Credentials })
  @Throttle('10/m')
  async add(body: Credentials) {
    const { name, password } = body
    const passwordHash = await hashPassword(password)
    const account = await this.database.records(Account).create({ name, passwordHash })
    return reply({ id: account.id, name }, 201).freshToken(await tokenFor(account, this.auth))
  }

  @Post('/login', { body: Credentials })
  @Throttle('10/m')
  async login(body: Credentials) {
    const { name, password } = body
    const [account] = await this.database.records(Account).list({ where: { name }, limit: 1 })
    const isRight = await verifyPassword(password, account?.passwordHash)
    if (account === undefined || !isRight) throw new HttpError(401, 'Name or password is wrong.')
    return reply({ id: account.id, name }).freshToken(await tokenFor(account, this.auth))
  }
}

export function tokenFor({ id, isAdmin }: Row<Account>, auth: Auth) {
  return auth.getToken({ sub: String(id), roles: isAdmin ? ['admin'] : [] })
}

@Controller('/session')
export class SessionController {
  static inject = [Auth]
  constructor(private readonly auth: Auth) {}

  /** Whether the caller is signed in, and as administrator. */
  @Get('/')
  show(user: Claims | null) {
    const roles = Array.isArray(user?.roles) ? user.roles : []
    return { signedIn: user !== null, admin: roles.includes('admin') }
  }

  /** Signs out: the token is not accepted any more. */
  @Post('/end', { status: 204 })
  @Secured
  async end(user: Claims | null) {
    if (typeof user?.jti === 'string') await this.auth.revoke(user.jti, user.exp)
  }
}
