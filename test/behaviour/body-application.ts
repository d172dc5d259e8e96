/** An application whose responses show the parsed body and headers of the request. */
import {
  bootstrap,
  Controller,
  Delete,
  Field,
  Get,
  Module,
  NoAuth,
  Post,
  type Application,
  type BootstrapOptions,
  type HttpRequest,
} from '../../src/index.js'

class Item {
  @Field('string') name!: string
  @Field('integer', { optional: true }) qty?: number
}

/** The body as a handler got it, in a form that JSON can show. */
function describeBody(body: unknown): object {
  if (body === undefined) return { nothing: true }
  if (body instanceof Uint8Array) return { bytes: Buffer.from(body).toString('latin1') }
  return { body }
}

@Controller
class BodyController {
  @Post('/any')
  @NoAuth
  any(body: unknown) {
    return describeBody(body)
  }

  @Get('/any')
  read(body: unknown) {
    return describeBody(body)
  }

  @Delete('/any')
  @NoAuth
  remove(body: unknown) {
    return describeBody(body)
  }

  @Post('/item')
  @NoAuth
  item(body: Item) {
    return { isItem: body instanceof Item, body }
  }

  @Post('/items', { body: [Item] })
  @NoAuth
  items(body: Item[]) {
    return { count: body.length }
  }

  @Post('/small', { limit: '16b' })
  @NoAuth
  small(body: unknown) {
    return describeBody(body)
  }

  @Post('/large', { limit: '2mb' })
  @NoAuth
  large(body: string) {
    return { length: body.length }
  }

  @Post('/unread')
  @NoAuth
  unread() {
    return { unread: true }
  }

  @Post('/token')
  @NoAuth
  token(request: HttpRequest, body: unknown) {
    return { formToken: request.formToken ?? null, ...describeBody(body) }
  }

  @Post('/secret')
  secret(body: unknown) {
    return describeBody(body)
  }

  @Get('/who')
  showClient(request: HttpRequest, headers: Record<string, string>, cookies: object) {
    const { ip, secure } = request
    return { ip, secure, cookies, custom: headers['x-custom-header'] }
  }
}

@Module({ controllers: [BodyController] })
class BodyModule {}

export const apiKey = 'operator-0123456789abcdef'
export const json = 'application/json'
export const form = 'application/x-www-form-urlencoded'

/** Listens on a free port of 127.0.0.1. */
export function startBodies(options: BootstrapOptions = {}): Promise<Application> {
  const fixed = { port: 0, host: '127.0.0.1', logger: false, env: { APP_API_KEY: apiKey } }
  return bootstrap(BodyModule, { ...fixed, ...options })
}
