/** Users with hashed passwords, a login that returns a token, and a page for administrators only. */
import {
  Auth,
  Controller,
  Database,
  Doc,
  Field,
  Get,
  HttpError,
  NoAuth,
  Post,
  reply,
  Secured,
  verifyPassword,
  type Claims,
} from 'filigree'
import type { PasskeySignIn } from 'filigree/passkeys'
import { Throttle } from 'filigree/throttle'
import { User } from './records.js'
import { World } from './world.js'

/** The user who registered the passkey, as long as the user exists. */
export class PasskeyUsers {
  static inject = [Database]
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async fromPasskey({ sub }: PasskeySignIn): Promise<Claims | null> {
    const [user] = await this.#database.records(User).list({ where: { name: sub }, limit: 1 })
    return user === undefined ? null : { sub, roles: user.roles }
  }
}

class Credentials {
  @Field('string', { maxLength: 80, pattern: /^\P{Cc}*$/u, example: 'ada' }) name!: string
  @Field('string', { maxLength: 200, example: 'analytical' }) password!: string
}

@Controller
@Doc({ tags: ['login'] })
export class LoginController {
  static inject = [Database, Auth, World]
  readonly #database: Database
  readonly #auth: Auth
  readonly #world: World

  constructor(database: Database, auth: Auth, world: World) {
    this.#database = database
    this.#auth = auth
    this.#world = world
  }

  @Post('/login', { body: Credentials })
  @NoAuth
  // Guessing is slow: one attempt in three seconds from each address.
  @Throttle('20/m')
  @Doc({
    description: 'Answers with a token in the header FreshToken.',
    example: { name: 'ada', password: 'analytical' },
    exampleResponse: { name: 'ada', roles: ['admin'] },
  })
  async login(body: Credentials) {
    const users = this.#database.records(User)
    const [user] = await users.list({ where: { name: body.name }, limit: 1 })
    const isRight = await verifyPassword(body.password, user?.passwordHash)
    if (user === undefined || !isRight) throw new HttpError(401, 'Name or password is wrong.')
    const token = await this.#auth.getToken({ sub: user.name, roles: user.roles })
    return reply({ name: user.name, roles: user.roles }).freshToken(token)
  }

  @Get('/me')
  @Secured
  @Doc({
    description: 'The user of the token.',
    exampleResponse: { name: 'ada', roles: ['admin'] },
  })
  me(user: Claims | null) {
    return { name: user?.sub ?? null, roles: user?.roles ?? [] }
  }

  @Get('/admin/statistics')
  @Secured('admin')
  @Doc({
    description: 'For administrators only.',
    exampleResponse: { countries: 250, cities: 171075 },
  })
  statistics() {
    return this.#world.statistics()
  }
}
