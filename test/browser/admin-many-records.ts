/** An application with sixty records in six groups, for the menu and the start page of the admin page. */
import {
  bootstrap,
  Controller,
  Field,
  Module,
  NoAuth,
  Post,
  Record as Row,
  Auth,
  reply,
  type Application,
  type Reply,
} from 'filigree'
import { Admin, admin } from 'filigree/admin'

class Credentials {
  @Field('string') name!: string
  @Field('string') password!: string
}

@Controller('/')
class Login {
  static readonly inject = [Auth]
  constructor(private readonly auth: Auth) {}

  @Post('/login', { body: Credentials })
  @NoAuth
  async login(body: Credentials): Promise<Reply> {
    return reply({}).freshToken(await this.auth.getToken({ sub: body.name, roles: ['admin'] }))
  }
}

const groups = ['Sales', 'Stock', 'People', 'Money', 'Desk', 'System']

const records = Array.from({ length: 60 }, (_, index) => {
  class Some {}
  Object.defineProperty(Some, 'name', { value: `Thing${index + 1}` })
  Field('id')(Some.prototype, 'id')
  Field('string')(Some.prototype, 'name')
  Row({ plural: `things${index + 1}` })(Some)
  Admin({ group: groups[index % groups.length]!, help: `What thing ${index + 1} is.` })(Some)
  return Some
})

export async function startManyRecords(): Promise<Application> {
  @Module({
    controllers: [Login],
    records,
    imports: [admin({ path: '/admin', roles: 'admin', records, login: { path: '/login' } })],
  })
  class App {}
  return bootstrap(App, {
    ...{ port: 0, host: '127.0.0.1', logger: false, env: {} },
    ...{ database: 'sqlite::memory:', auth: { cookie: true } },
  })
}
