/** Who may write: users with hashed passwords, a login that hands out a token, and a page for administrators only. */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import {
  Auth,
  Controller,
  Doc,
  Field,
  Get,
  HttpError,
  NoAuth,
  Post,
  reply,
  Secured,
  type Claims,
} from 'filigree'
import { World } from './world.js'

const derive = promisify<string, Buffer, number, Buffer>(scrypt)

interface User {
  readonly name: string
  readonly roles: readonly string[]
  readonly salt: Buffer
  readonly hash: Buffer
}

/** The users, in memory, with scrypt hashes. A real application keeps them in its database. */
export class Users {
  readonly #users = new Map<string, User>()
  readonly #nobody = randomBytes(16)

  async onStart(): Promise<void> {
    await this.#add('ada', 'analytical', ['admin'])
    await this.#add('grace', 'compiler', [])
  }

  /** Takes as long for an unknown name as for a wrong password. */
  async find(name: string, password: string): Promise<User | undefined> {
    const user = this.#users.get(name)
    const hash = await derive(password, user?.salt ?? this.#nobody, 32)
    return user !== undefined && timingSafeEqual(hash, user.hash) ? user : undefined
  }

  async #add(name: string, password: string, roles: readonly string[]): Promise<void> {
    const salt = randomBytes(16)
    this.#users.set(name, { name, roles, salt, hash: await derive(password, salt, 32) })
  }
}

class Credentials {
  @Field('string', { maxLength: 80, example: 'ada' }) name!: string
  @Field('string', { maxLength: 200, example: 'analytical' }) password!: string
}

@Controller
@Doc({ tags: ['login'] })
export class LoginController {
  static inject = [Users, Auth, World]
  readonly #users: Users
  readonly #auth: Auth
  readonly #world: World

  constructor(users: Users, auth: Auth, world: World) {
    this.#users = users
    this.#auth = auth
    this.#world = world
  }

  @Post('/login', { body: Credentials })
  @NoAuth
  @Doc({
    description: 'Answers with a token in the header FreshToken.',
    example: { name: 'ada', password: 'analytical' },
    exampleResponse: { name: 'ada', roles: ['admin'] },
  })
  async login(body: Credentials) {
    const user = await this.#users.find(body.name, body.password)
    if (user === undefined) throw new HttpError(401, 'Name or password is wrong.')
    const token = await this.#auth.getToken({ sub: user.name, roles: user.roles })
    return reply({ name: user.name, roles: user.roles }).freshToken(token)
  }

  @Get('/me')
  @Secured
  @Doc({ description: 'Who the token is for.', exampleResponse: { name: 'ada', roles: ['admin'] } })
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
    return { countries: this.#world.countries.length, cities: this.#world.cityCount }
  }
}
