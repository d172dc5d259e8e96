/** A help desk with an admin page: records with a version and without, an editor who sees the rows of one organisation. */
import {
  Auth,
  BelongsTo,
  Controller,
  Database,
  Field,
  HasMany,
  HttpError,
  ManyToMany,
  Module,
  NoAuth,
  Post,
  Record as Row,
  reply,
  Secured,
  type Claims,
  type Generated,
  type Rel,
  type Reply,
} from 'filigree'
import { Admin, admin, AdminAction, type ActionContext } from 'filigree/admin'

@Row({ search: ['name'] })
@Admin({ title: 'name', group: 'People' })
export class Org {
  @Field('id') id!: number
  @Field('string', { maxLength: 100, index: true }) name!: string
  @Field('string', { hidden: true, default: 'internal' }) note!: Generated<string>
}

@Row()
@Admin({ history: true })
export class Label {
  @Field('id') id!: number
  @Field('string', { unique: true, maxLength: 40 }) name!: string
}

export class Reason {
  @Field('string', { minLength: 3, maxLength: 200 }) reason!: string
}

function rowsOf(user: Claims | null): boolean | { orgId: number } {
  if (user?.roles?.includes('admin') === true) return true
  return typeof user?.org === 'number' ? { orgId: user.org } : false
}

@Row<Ticket>({ rows: rowsOf, mutations: ['admin', 'editor'], timestamps: true })
@Admin({
  title: 'subject',
  list: ['subject', 'status', 'org'],
  group: 'Desk',
  help: 'What people ask.',
  history: true,
})
export class Ticket {
  @Field('id') id!: number
  @Field('string', { minLength: 2, maxLength: 200, index: true }) subject!: string
  @Field('string', { oneOf: ['open', 'closed'], default: 'open' }) status!: Generated<string>
  @Field('integer', { min: 0, max: 9, default: 0 }) priority!: Generated<number>
  @Field('text', { nullable: true, optional: true }) body?: string | null
  @Field('integer') orgId!: number
  @BelongsTo(() => Org) org!: Rel<Org>
  @ManyToMany(() => Label) labels!: Rel<Label[]>
  @HasMany(() => Comment) comments!: Rel<Comment[]>
  @Field('string', { nullable: true, optional: true }) @Secured('admin') salary?: string | null
  @Field('string', { hidden: true, default: 'hidden words' }) secret!: Generated<string>
  @Field('integer', { readOnly: true, default: 0 }) views!: Generated<number>

  @AdminAction({ label: 'Close', bulk: true, body: Reason })
  async close({ records, body }: ActionContext<Reason>): Promise<void> {
    if (body.reason === 'stop' && this.id === 2) throw new HttpError(409, 'This one stays open.')
    await records(Ticket).update(this.id, { status: 'closed' })
    await records(Comment).create({ ticketId: this.id, text: body.reason })
  }

  @AdminAction({ label: 'Raise' })
  raise(): void {
    this.priority += 1
  }

  @AdminAction({ label: 'Purge', bulk: true })
  @Secured('admin')
  async purge({ records }: ActionContext): Promise<void> {
    await records(Ticket).delete(this.id)
  }
}

@Row()
export class Comment {
  @Field('id') id!: number
  @Field('integer') ticketId!: number
  @BelongsTo(() => Ticket, { onDelete: 'cascade' }) ticket!: Rel<Ticket>
  @Field('text') text!: string
}

@Row({ version: true, mutations: false })
@Secured('admin')
@Admin({ title: 'code' })
export class Plan {
  @Field('id') id!: number
  @Field('string') code!: string
}

class Credentials {
  @Field('string', { maxLength: 100 }) name!: string
  @Field('string', { maxLength: 100 }) password!: string
}

@Controller('/')
class Login {
  static readonly inject = [Auth]
  constructor(private readonly auth: Auth) {}

  @Post('/login', { body: Credentials })
  @NoAuth
  async login(body: Credentials): Promise<Reply> {
    if (body.password !== 'right') throw new HttpError(401, 'Name or password is wrong.')
    const token = await this.auth.getToken({ sub: body.name, roles: ['admin'] })
    return reply({}).freshToken(token)
  }
}

@Controller('/tickets', { crud: Ticket })
class Tickets {}

@Module({
  controllers: [Login, Tickets],
  records: [Org, Label, Ticket, Comment, Plan],
  imports: [
    admin({
      path: '/admin',
      roles: ['admin', 'editor'],
      records: [Ticket, Comment, Org, Label, Plan],
      login: { path: '/login' },
    }),
  ],
})
export class Desk {}

export async function fill(database: Database): Promise<void> {
  await database.records(Org).create({ name: 'Alpha' })
  await database.records(Org).create({ name: 'Beta' })
  await database.records(Label).create({ name: 'red' })
  await database.records(Label).create({ name: 'blue' })
  for (const [subject, orgId] of [
    ['Lamp', 1],
    ['Chair', 1],
    ['Table', 2],
  ] as const)
    await database.records(Ticket).create({ subject, orgId, salary: `pay of ${subject}` })
}
