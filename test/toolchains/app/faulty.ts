/** An application whose fields take their kinds from the compiler. It prints why it does not start. */
import { bootstrap, Controller, DeclarationError, Field, Module, NoAuth, Post } from 'filigree'

class Thing {
  @Field() name!: string
  @Field() size!: number
  @Field() tags!: string[]
}

@Controller('/things')
class ThingController {
  @Post('/', { body: Thing, args: ['body'] })
  @NoAuth
  create(body: Thing): Thing {
    return body
  }
}

@Module({ controllers: [ThingController] })
class ThingModule {}

try {
  await bootstrap(ThingModule, { listen: false, logger: false })
} catch (error) {
  if (!(error instanceof DeclarationError)) throw error
  process.stdout.write(JSON.stringify(error.problems))
}
