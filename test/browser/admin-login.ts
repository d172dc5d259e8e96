/** A sign-in that takes any name and password, for applications of browser tests. */
import { Auth, Controller, Field, NoAuth, Post, reply, type Reply } from 'filigree'

class Credentials {
  @Field('string') name!: string
  @Field('string') password!: string
}

@Controller('/login')
export class Login {
  static readonly inject = [Auth]
  constructor(private readonly auth: Auth) {}

  @Post({ body: Credentials })
  @NoAuth
  async login(body: Credentials): Promise<Reply> {
    return reply({}).freshToken(await this.auth.getToken({ sub: body.name, roles: ['clerk'] }))
  }
}
