/** A sign-in for suites that need the admin page but sign nobody in by it. */
import { Controller, Field, NoAuth, Post } from 'filigree'

class Credentials {
  @Field('string') name!: string
}

@Controller('/login')
export class OpenLogin {
  @Post({ body: Credentials })
  @NoAuth
  login(): object {
    return {}
  }
}
