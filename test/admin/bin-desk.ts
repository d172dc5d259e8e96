/** A small admin page of a record with `softDelete` and a history, for the server's suite and for the browser's. */
import {
  Auth,
  BeforeWrite,
  Controller,
  Field,
  HttpError,
  Module,
  NoAuth,
  Post,
  Record as Table,
  reply,
  type Reply,
  type WriteContext,
} from 'filigree'
import { Admin, admin } from 'filigree/admin'

@Table<Note>({
  softDelete: true,
  writes: ['admin', 'editor'],
  rows: (user) => (user?.roles?.includes('admin') === true ? true : { owner: String(user?.sub) }),
})
@Admin({ history: true, list: ['title', 'owner'] })
export class Note {
  @Field('id') id!: number
  @Field('string', { unique: true, maxLength: 100 }) title!: string
  @Field('string', { maxLength: 40 }) owner!: string
  deletedAt!: string | null

  @BeforeWrite() check({ before }: WriteContext<Note>): void {
    if (this.title === 'final' && before !== null) throw new HttpError(409, 'It stays deleted.')
  }
}

@Table({ writes: 'admin' })
export class Label {
  @Field('id') id!: number
  @Field('string') name!: string
}

class Credentials {
  @Field('string') name!: string
  @Field('string') password!: string
}

@Controller('/login')
class Login {
  static readonly inject = [Auth]
  constructor(private readonly auth: Auth) {}

  @Post('/', { body: Credentials })
  @NoAuth
  async login(body: Credentials): Promise<Reply> {
    const roles = [body.name === 'ann' ? 'admin' : 'editor']
    return reply({}).freshToken(await this.auth.getToken({ sub: body.name, roles }))
  }
}

@Module({
  controllers: [Login],
  records: [Note, Label],
  imports: [
    admin({
      path: '/admin',
      roles: ['admin', 'editor', 'reader'],
      records: [Note, Label],
      login: { path: '/login' },
    }),
  ],
})
export class BinDesk {}
