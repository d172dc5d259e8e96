/** An application with one route, `GET /shop/now`. */
import { Controller, Get, Module } from '../../src/index.js'

@Controller('/shop')
class ShopController {
  @Get('/now')
  now() {
    return { now: 7 }
  }
}

@Module({ controllers: [ShopController] })
export class ShopModule {}
