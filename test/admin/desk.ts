/**
 * A help desk with an admin page, for the server's suites and for the browser's: every kind of field, records with a version and
 * without, one that is only read, keys that are UUIDs, an editor who sees the rows of one organisation.
 */
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

const isAdmin = (user: Claims | null): boolean => user?.roles?.includes('admin') === true

function rowsOf(user: Claims | null): boolean | { orgId: number } {
  if (isAdmin(user)) return true
  return typeof user?.org === 'number' ? { orgId: user.org } : false
}

@Row({ search: ['name'], writes: ['admin', 'editor'] })
@Admin({ title: 'name', list: ['name', 'city'], group: 'People', help: 'Who asks us for help.' })
export class Org {
  @Field('id') id!: number
  @Field('string', { minLength: 2, maxLength: 100, index: true }) name!: string
  @Field('string', { nullable: true, optional: true }) city?: string | null
  @HasMany(() => Contract) contracts!: Rel<Contract[]>
  @HasMany(() => Device) devices!: Rel<Device[]>
  @Field('string', { hidden: true, default: 'hidden words' }) note!: Generated<string>
}

@Row({ writes: ['admin', 'editor'] })
@Admin({ title: 'name', group: 'Desk', history: true })
export class Label {
  @Field('id') id!: number
  @Field('string', { unique: true, minLength: 2, maxLength: 40 }) name!: string
}

export class Reason {
  @Field('string', { minLength: 3, maxLength: 200 }) reason!: string
}

export class Place {
  @Field('string', { maxLength: 80 }) street!: string
  @Field('string', { maxLength: 60 }) town!: string
}

@Row<Ticket>({
  rows: rowsOf,
  writes: ['admin', 'editor'],
  timestamps: true,
  search: ['subject', 'body'],
})
@Admin({
  title: 'subject',
  list: ['subject', 'status', 'priority', 'org', 'due'],
  group: 'Desk',
  help: 'What people ask, and what became of it.',
  history: true,
})
export class Ticket {
  @Field('id') id!: number
  @Field('string', { minLength: 2, maxLength: 200, index: true }) subject!: string
  @Field('integer') orgId!: number
  @BelongsTo(() => Org) org!: Rel<Org>
  @Field('string', { oneOf: ['open', 'waiting', 'closed'], default: 'open' })
  status!: Generated<string>
  @Field('integer', { min: 0, max: 9, default: 0, description: '9 is the most urgent.' })
  priority!: Generated<number>
  @Field('date', { nullable: true, optional: true }) due?: string | null
  @Field('decimal', { scale: 2, nullable: true, optional: true }) hours?: string | null
  @Field('boolean', { default: false }) urgent!: Generated<boolean>
  @Field('text', { nullable: true, optional: true }) body?: string | null
  @Field('string', { list: true, default: [] }) keywords!: Generated<string[]>
  @Field(() => Place, { nullable: true, optional: true }) place?: Place | null
  @Field('blob', { nullable: true, optional: true, maxLength: 100_000 }) picture?: Buffer | null
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

  @AdminAction({ label: 'Purge', bulk: true, danger: true })
  @Secured('admin')
  async purge({ records }: ActionContext): Promise<void> {
    await records(Ticket).delete(this.id)
  }
}

@Row<Comment>({
  rows: (user) =>
    isAdmin(user) || { ticket: { orgId: typeof user?.org === 'number' ? user.org : -1 } },
  writes: ['admin', 'editor'],
})
@Admin({ title: 'text', group: 'Desk' })
export class Comment {
  @Field('id') id!: number
  @Field('integer') ticketId!: number
  @BelongsTo(() => Ticket, { onDelete: 'cascade' }) ticket!: Rel<Ticket>
  @Field('string', { minLength: 2, maxLength: 200 }) text!: string
}

/** Read by everybody who comes in by the page and has the role, written by the program alone. */
@Row({ version: true, writes: false })
@Secured('admin')
@Admin({ title: 'code', list: ['code', 'seats'], group: 'People', help: 'What one may pay for.' })
export class Plan {
  @Field('id') id!: number
  @Field('string') code!: string
  @Field('integer', { default: 1 }) seats!: Generated<number>
  @Field('text', { nullable: true, optional: true }) terms?: string | null
  @HasMany(() => Contract) contracts!: Rel<Contract[]>
}

@Row({ version: true, writes: 'admin' })
@Secured('admin')
@Admin({ title: 'code', group: 'People', help: 'What is paid for.' })
export class Contract {
  @Field('id') id!: number
  @Field('string', { pattern: '^[A-Z]+-[0-9]+$' }) code!: string
  @Field('decimal', { scale: 2, min: '0', label: 'Yearly fee', help: 'In euros.' }) fee!: string
  @Field('datetime', { nullable: true, optional: true }) signedAt?: string | null
  @Field('integer', { nullable: true, optional: true, label: 'Organisation' })
  orgId?: number | null
  @BelongsTo(() => Org) org!: Rel<Org | null>
  @Field('integer', { nullable: true, optional: true }) planId?: number | null
  @BelongsTo(() => Plan) plan!: Rel<Plan | null>
}

@Row<Device>({ rows: rowsOf, writes: ['admin', 'editor'] })
@Admin({ title: 'name', list: ['name', 'org', 'parent'], group: 'Desk', history: true })
export class Device {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string', { minLength: 2, maxLength: 60, index: true }) name!: string
  @Field('integer') orgId!: number
  @BelongsTo(() => Org) org!: Rel<Org>
  @Field('uuid', { nullable: true, optional: true }) parentId?: string | null
  @BelongsTo(() => Device, { onDelete: 'setNull' }) parent!: Rel<Device | null>

  @AdminAction({ label: 'Rename', bulk: true })
  rename(): void {
    this.name = `${this.name} (renamed)`
  }
}

class Credentials {
  @Field('string', { maxLength: 100 }) name!: string
  @Field('string', { maxLength: 100 }) password!: string
}

const people: Readonly<globalThis.Record<string, Claims>> = {
  ann: { sub: 'ann', roles: ['admin'] },
  bob: { sub: 'bob', roles: ['admin'] },
  ed: { sub: 'ed', roles: ['editor'], org: 2 },
  /** May write nothing. */
  ria: { sub: 'ria', roles: ['reader'], org: 2 },
}

@Controller('/')
class Login {
  static readonly inject = [Auth]
  constructor(private readonly auth: Auth) {}

  @Post('/login', { body: Credentials })
  @NoAuth
  async login(body: Credentials): Promise<Reply> {
    const claims = people[body.name]
    if (claims === undefined || body.password !== 'right')
      throw new HttpError(401, 'Name or password is wrong.')
    return reply({}).freshToken(await this.auth.getToken(claims))
  }
}

@Controller('/tickets', { crud: Ticket })
class Tickets {}

@Module({
  controllers: [Login, Tickets],
  records: [Org, Label, Ticket, Comment, Plan, Contract, Device],
  imports: [
    admin({
      path: '/admin',
      roles: ['admin', 'editor', 'reader'],
      records: [Ticket, Comment, Label, Device, Org, Plan, Contract],
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
