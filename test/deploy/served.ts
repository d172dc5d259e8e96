/** One of the processes behind a balancer: `served.ts <port>`. It sends `up` once it listens. */
import { setTimeout as pause } from 'node:timers/promises'
import {
  bootstrap,
  Controller,
  Get,
  type HttpRequest,
  Module,
  NoAuth,
  Post,
} from '../../src/index.js'
import { health } from '../../src/modules/health/health.js'

@Controller('/')
class ServedController {
  @Get('/items/<id:int>') show(id: number) {
    return { id, pid: process.pid }
  }
  @Get('/secure') secure(request: HttpRequest) {
    return { secure: request.secure }
  }
  @Post('/items') @NoAuth create(body: unknown) {
    return body
  }
  /** A stream of ten pieces in one second: long enough for its process to be stopped meanwhile. */
  @Get('/pieces') async *pieces() {
    for (let number = 0; number < 10; number++) {
      yield `${number}\n`
      await pause(100)
    }
  }
}

@Module({ controllers: [ServedController], imports: [health()] })
class ServedModule {}

await bootstrap(ServedModule, {
  port: Number(process.argv[2]),
  host: '127.0.0.1',
  logger: false,
  trustProxy: 1,
})
process.send?.('up')
