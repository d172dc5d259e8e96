/** The application that the client talks to in these tests. */
import {
  Auth,
  bootstrap,
  Controller,
  Delete,
  Field,
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
  type UploadedFile,
} from 'filigree'
import { makePair } from '../auth/key-pair.js'
import { signToken as signClaims } from '../auth/sign-token.js'

const { privatePem } = makePair()

/** A token of the shop, issued a while ago: that its successor is another can be seen within the same second. */
export function signToken(name: string, secondsAgo = 60): string {
  const iat = Math.floor(Date.now() / 1000) - secondsAgo
  const claims = { sub: name, iat, exp: iat + 3600, jti: name }
  return signClaims(claims, privatePem)
}

export class NewItem {
  @Field('string', { maxLength: 80 }) name!: string
  @Field('numeric', { min: 0 }) price!: number
}

@Controller('/items')
export class ItemController {
  @Get('/') list(query: Record<string, unknown>): object {
    return query
  }
  @Get('/<id:int>') show(id: number): { id: number; soldAt: Date } {
    if (id > 100) throw new HttpError(404, 'Item not found')
    return { id, soldAt: new Date(0) }
  }
  @Get('/named/<name>') named(name: string): { name: string } {
    return { name }
  }
  @Get('/docs/<rest:path>') docs(rest: string): string {
    return rest
  }
  @Get('/raw') raw(): Uint8Array {
    return new Uint8Array([1, 2, 3])
  }
  @Get('/none') none(): null {
    return null
  }
  @Post('/', { body: NewItem }) create(body: NewItem) {
    return reply({ name: body.name, price: body.price, id: 8 }, 201).header('X-Shelf', '3')
  }
  @Put('/<id:int>') replace(id: number, body: unknown, request: HttpRequest): object {
    return { id, body, formToken: request.formToken !== undefined }
  }
  @Patch('/<id:int>') rename(id: number, body: unknown): object {
    return { id, body: body ?? null }
  }
  @Delete('/<id:int>') remove(id: number, request: HttpRequest): object {
    return { id, formToken: request.formToken !== undefined }
  }
  @Post('/photos', { limit: '25mb' }) photo(
    body: unknown,
    files: { photo: UploadedFile },
    request: HttpRequest,
  ): object {
    const { name, size } = files.photo
    return { body, name, size, formToken: request.formToken !== undefined }
  }
  @Post('/echo') @NoAuth echo(body: unknown, headers: Record<string, string>): object {
    const shown = body instanceof Uint8Array ? [...body] : body
    return { body: shown, type: headers['content-type'] ?? null }
  }
}

@Controller('/')
export class AccountController {
  static inject = [Auth]
  constructor(private readonly auth: Auth) {}

  @Post('/login') @NoAuth async login(body: unknown) {
    const { name, password } = body as { name: string; password?: string }
    if (password !== 'lovelace') return reply({ message: 'Wrong name or password' }, 401)
    return reply({ ok: true }).freshToken(await this.auth.getToken({ sub: name }))
  }

  @Get('/me') @Secured me(user: Claims): { name: unknown; issuedAt: unknown } {
    return { name: user.sub, issuedAt: user.iat }
  }

  @Get('/me/forbidden') @Secured('admin') forbidden(): object {
    return {}
  }
}

@Module({ controllers: [ItemController, AccountController] })
class ShopModule {}

/** Listens on a free port of 127.0.0.1; every answer to a token brings a fresh one. */
export function startShop(options: BootstrapOptions = {}): Promise<Application> {
  return bootstrap(ShopModule, {
    env: { APP_PRIVATE_KEY: privatePem },
    port: 0,
    host: '127.0.0.1',
    logger: false,
    auth: { rotate: 'always' },
    ...options,
  })
}
