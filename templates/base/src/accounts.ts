/** Making an account, and signing in. */
import {
  Auth,
  Controller,
  Database,
  Field,
  hashPassword,
  HttpError,
  NoAuth,
  Post,
  reply,
  verifyPassword,
} from 'filigree'
import { Throttle } from 'filigree/throttle'
import { Account } from './records.js'

class Credentials {
  @Field('string', { minLength: 2, maxLength: 80, example: 'ann' }) name!: string
  @Field('string', { minLength: 8, maxLength: 200, example: 'a long password' }) password!: string
}

/** Both answer with a token in the header FreshToken: send it as `Authorization: Bearer …`. */
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
    const { id } = await this.database.records(Account).create({ name, passwordHash })
    return reply({ id, name }, 201).freshToken(await this.auth.getToken({ sub: String(id) }))
  }

  @Post('/login', { body: Credentials })
  @Throttle('10/m')
  async login(body: Credentials) {
    const { name, password } = body
    const [account] = await this.database.records(Account).list({ where: { name }, limit: 1 })
    const isRight = await verifyPassword(password, account?.passwordHash)
    if (account === undefined || !isRight) throw new HttpError(401, 'Name or password is wrong.')
    const token = await this.auth.getToken({ sub: String(account.id) })
    return reply({ id: account.id, name }).freshToken(token)
  }
}
