/** A process with a sign-in route: `sign-in-process.ts <database>`. It prints its address to standard output. */
import { setTimeout as pause } from 'node:timers/promises'
import {
  Auth,
  bootstrap,
  Controller,
  Database,
  Get,
  Module,
  NoAuth,
  Post,
  Secured,
  type Claims,
  type HttpRequest,
} from '../../src/index.js'

let renewCount = 0

@Controller('/')
class Site {
  static readonly inject = [Auth, Database]
  constructor(private readonly auth: Auth) {}

  @Get('/me') @Secured me(user: Claims): object {
    return { sub: user.sub, pid: process.pid }
  }

  @Get('/renew-count') @NoAuth renewCount(): object {
    return { renewCount }
  }

  @Post('/tokens/<sub>') @NoAuth async begin(sub: string): Promise<object> {
    return { token: await this.auth.getToken({ sub }) }
  }

  @Get('/devices/<sub>') @NoAuth devices(sub: string): Promise<object> {
    return this.auth.signIns(sub)
  }

  @Post('/end/<id>') @NoAuth async end(id: string): Promise<void> {
    await this.auth.revoke(id)
  }

  @Post('/end-all/<sub>') @NoAuth async endAll(sub: string): Promise<void> {
    await this.auth.revokeAll(sub)
  }

  @Post('/exchange') @NoAuth async exchange(request: HttpRequest): Promise<object> {
    const token = request.headers['x-token'] ?? ''
    return { made: await this.auth.exchange(token, {}, () => `${process.pid} ${++renewCount}`) }
  }
}

@Module({ controllers: [Site] })
class SiteModule {}

const app = await bootstrap(SiteModule, {
  ...{ database: process.argv[2] ?? '', port: 0, host: '127.0.0.1', logger: false },
  auth: {
    // A rotation is due from the next second on.
    rotate: 'always',
    rotation: { grace: '12s', reuse: 'end' },
    renew: async (claims) => {
      renewCount++
      // Time for concurrent requests with the same token to arrive.
      await pause(50)
      return { ...claims, by: process.pid }
    },
  },
})
console.log(app.url)
