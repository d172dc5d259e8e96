/** The `Idempotency-Key` of another user or of another tenant gives no stored response. */
import {
  Auth,
  bootstrap,
  Controller,
  Module,
  NoAuth,
  Post,
  reply,
  type HttpRequest,
} from 'filigree'
import { idempotent } from 'filigree/idempotent'
import type { Attack } from './attack.js'

let count = 0

@Controller('/')
class AttackedController {
  static inject = [Auth]
  constructor(private readonly auth: Auth) {}

  @NoAuth @Post('/login') async login() {
    return { token: await this.auth.getToken({ sub: `visitor-${++count}` }) }
  }
  @NoAuth @Post('/login-cookie') loginCookie() {
    return reply({ visitor: ++count }).cookie('visitor', String(count))
  }
  @Post('/orders') order(request: HttpRequest) {
    return { tenant: request.user?.tenant, number: ++count }
  }
}

@Module({ controllers: [AttackedController], imports: [idempotent()] })
class AttackedModule {}

const key = { 'idempotency-key': '1' }

export const attacks: readonly Attack[] = [
  {
    name: 'idempotency: the key of another visitor without a token',
    before: "the other visitor's response, with its token",
    run: async () => {
      const app = await bootstrap(AttackedModule, {
        port: 0,
        logger: false,
        trustProxy: 1,
        database: 'sqlite::memory:',
      })
      try {
        const send = async (url: string, address: string) => {
          const headers = { ...key, 'x-forwarded-for': address }
          const { status, body } = await app.inject({ method: 'POST', url, headers })
          return `${status} ${body}`
        }
        const tokens = [await send('/login', '203.0.113.1'), await send('/login', '203.0.113.2')]
        const cookies = [
          await send('/login-cookie', '203.0.113.1'),
          await send('/login-cookie', '203.0.113.1'),
        ]
        const repeated = [tokens, cookies].filter(([first, second]) => first === second)
        return {
          now: `${repeated.length} of 2 responses of the other visitor`,
          isBlocked: repeated.length === 0 && tokens.every((one) => one.startsWith('200')),
        }
      } finally {
        await app.close()
      }
    },
  },
  {
    name: 'idempotency: a key that was used as a member of another tenant',
    before: 'the response of the other tenant',
    run: async () => {
      const app = await bootstrap(AttackedModule, {
        port: 0,
        logger: false,
        database: 'sqlite::memory:',
      })
      try {
        const auth = app.get(Auth)
        const order = async (claims: object) => {
          const token = await auth.getToken({ sub: 'ann', ...claims })
          const response = await app.inject({ method: 'POST', url: '/orders', headers: key, token })
          return response.json() as { tenant: string; number: number }
        }
        const first = await order({ tenant: 'a' })
        const other = await order({ tenant: 'b' })
        const second = await order({ tenant: 'a' })
        return {
          now: `tenant "a" gets order ${first.number}, tenant "b" order ${other.number} of tenant "${other.tenant}"`,
          isBlocked: other.tenant === 'b' && second.number === first.number,
        }
      } finally {
        await app.close()
      }
    },
  },
]
