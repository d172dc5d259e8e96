/** Nest 12 on Fastify with a guard on jose, as its documentation builds one. */
import 'reflect-metadata'
import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  Module,
  Param,
  ParseIntPipe,
  Req,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common'
import { importSPKI, jwtVerify } from 'jose'
import { announce, itemOf } from '../contract.mjs'
import { startOnFastify } from '../nest-on-fastify.mjs'

const key = await importSPKI(process.env.APP_PUBLIC_KEY!, 'RS256')
const rules = { algorithms: ['RS256'], requiredClaims: ['exp'] }

@Injectable()
class TokenGuard implements CanActivate {
  async canActivate(context: ExecutionContext) {
    const request = context.switchToHttp().getRequest()
    const { authorization } = request.headers
    if (!authorization?.startsWith('Bearer ')) throw new UnauthorizedException()
    try {
      request.user = (await jwtVerify(authorization.slice(7), key, rules)).payload
    } catch {
      throw new UnauthorizedException()
    }
    return true
  }
}

@Controller('private')
class ItemController {
  @Get(':id')
  @UseGuards(TokenGuard)
  show(@Param('id', ParseIntPipe) id: number, @Req() request: { user: { sub: string } }) {
    return { ...itemOf(id), by: request.user.sub }
  }
}

@Module({ controllers: [ItemController] })
class AppModule {}

announce(await startOnFastify(AppModule))
