/** Filigree: the same route public and secured. The keys come from APP_PRIVATE_KEY and APP_PUBLIC_KEY. */
import {
  bootstrap,
  Controller,
  Get,
  Module,
  Secured,
  type Claims,
} from '../../../dist/server/index.js'
import { announce, itemOf } from '../contract.mjs'

@Controller('/')
class ItemController {
  @Get('/public/<id:int>')
  open(id: number) {
    return { ...itemOf(id), by: 'user-1' }
  }

  @Get('/private/<id:int>')
  @Secured
  closed(id: number, user: Claims) {
    return { ...itemOf(id), by: user.sub }
  }
}

@Module({ controllers: [ItemController] })
class AppModule {}

const app = await bootstrap(AppModule, { port: 0, host: '127.0.0.1', logger: false })
announce(app.url)
