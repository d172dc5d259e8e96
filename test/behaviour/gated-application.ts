/** An application with routes of every kind of access, a login, and tokens signed by another library. */
import {
  Auth,
  bootstrap,
  Controller,
  Delete,
  Get,
  HttpError,
  Module,
  NoAuth,
  Patch,
  Post,
  Put,
  reply,
  Secured,
  type Application,
  type BootstrapOptions,
  type Claims,
  type HttpRequest,
} from 'filigree'
import { makePair } from '../auth/key-pair.js'
import { signToken } from '../auth/sign-token.js'

export const apiKey = 'operator-0123456789abcdef'
export const { privatePem, publicPem } = makePair()
export const env = { APP_API_KEY: apiKey, APP_PRIVATE_KEY: privatePem }

/** The names of the write handlers that ran. */
export const ran: string[] = []

@Controller('/items')
class ItemController {
  @Get('/') list(): object {
    return { ok: true }
  }
  @Post('/') create(body: unknown): object {
    ran.push('create')
    return { body }
  }
  @Put('/<id:int>') put(id: number): object {
    return { id }
  }
  @Patch('/<id:int>') patch(id: number): object {
    return { id }
  }
  @Delete('/<id:int>') remove(id: number): object {
    return { id }
  }
  @Get('/private') @Secured private(user: Claims | null, request: HttpRequest): object {
    return { sub: user?.sub ?? null, by: request.auth?.by }
  }
  @Post('/webhook') @NoAuth hook(body: unknown, user: Claims | null): object {
    return { body, user }
  }
  @Get('/admin') @Secured('admin') admin(): object {
    return { ok: true }
  }
  @Get('/both') @Secured({ roles: ['admin', 'audit'], all: true }) allRoles(): object {
    return { ok: true }
  }
  @Get('/of/<sub>')
  @Secured((claims, request) => claims?.sub === request.params.sub)
  bySubject(sub: string): object {
    return { sub }
  }
  @Get('/broken') @Secured broken(): never {
    throw new HttpError(404, 'Item not found')
  }
}

@Secured('admin')
@Controller('/closed')
class ClosedController {
  @Get('/') list(): object {
    return { ok: true }
  }
  @Get('/anybody') @Secured anybody(): object {
    return { ok: true }
  }
  @Get('/open') @NoAuth open(): object {
    return { ok: true }
  }
}

@Controller('/')
class LoginController {
  static inject = [Auth]
  constructor(private readonly auth: Auth) {}

  @Post('/login') @NoAuth async login(body: unknown): Promise<unknown> {
    const { password } = body as { password?: string }
    if (password !== 'lovelace') throw new HttpError(401, 'Wrong name or password')
    const token = await this.auth.getToken({ sub: 'ada', roles: ['admin'] }, { expiresIn: '1h' })
    return reply({ ok: true }).freshToken(token)
  }

  @Post('/logout') async logout(user: Claims): Promise<object> {
    await this.auth.revoke(user.jti ?? '')
    return { ok: true }
  }
}

@Module({ controllers: [ItemController, ClosedController, LoginController] })
class AppModule {}

/** Starts the application, by default without listening. */
export function startProtectedApplication(options: BootstrapOptions = {}): Promise<Application> {
  return bootstrap(AppModule, { listen: false, logger: false, env, ...options })
}

export const now = (): number => Math.floor(Date.now() / 1000)

/** A token that Filigree did not make, signed with the application's key. It is valid for ten minutes unless the claims set `exp`. */
export const token = (claims: object = {}): string =>
  signToken({ sub: 'ada', iat: now(), exp: now() + 600, ...claims }, privatePem)
