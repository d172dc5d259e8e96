/** An application with everything that `doctor --production` warns of. */
import { Controller, Field, Module, NoAuth, Post } from '../../../src/index.js'
import { metrics } from '../../../src/modules/metrics/metrics.js'
import { Throttle, throttle } from '../../../src/modules/throttle/throttle.js'

class Credentials {
  @Field('string') name!: string
  @Field('string') password!: string
}
class Subscription {
  @Field('string') email!: string
}

@Controller('/')
@NoAuth
class Desk {
  @Post('/login', { body: Credentials })
  login(body: Credentials): object {
    return { name: body.name }
  }

  @Post('/limited', { body: Credentials })
  @Throttle('5/m', { by: 'body.name' })
  limited(body: Credentials): object {
    return { name: body.name }
  }

  @Post('/subscribe', { body: Subscription })
  subscribe(body: Subscription): object {
    return { email: body.email }
  }
}

@Module({ controllers: [Desk], imports: [metrics(), throttle({ limit: '100/m' })] })
export class AppModule {}

export const options = { trustProxy: true, auth: { keys: false as const } }
