/** A help desk whose admin page is shown and tried: every kind of field, an editor with narrow rows, hidden and secured fields. */
import {
  Auth,
  BelongsTo,
  bootstrap,
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
  type Application,
  type Claims,
  type Generated,
  type Rel,
  type Reply,
} from 'filigree'
import { Admin, admin, AdminAction, type ActionContext } from 'filigree/admin'

const isAdmin = (user: Claims | null): boolean => user?.roles?.includes('admin') === true

function ownOrg(user: Claims | null): boolean | { orgId: number } {
  if (isAdmin(user)) return true
  return typeof user?.org === 'number' ? { orgId: user.org } : false
}

@Row({ search: ['name'], mutations: ['admin', 'editor'] })
@Admin({ title: 'name', list: ['name', 'city'], group: 'People', help: 'Who asks us for help.' })
export class Org {
  @Field('id') id!: number
  @Field('string', { minLength: 2, maxLength: 100, index: true }) name!: string
  @Field('string', { nullable: true, optional: true }) city?: string | null
  @Field('string', { hidden: true, default: 'ORG-HIDDEN' }) note!: Generated<string>
}

@Row({ mutations: ['admin', 'editor'] })
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
  rows: ownOrg,
  mutations: ['admin', 'editor'],
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
  @Field('string', { minLength: 3, maxLength: 120, index: true }) subject!: string
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
  @Field('string', { hidden: true, default: 'TICKET-HIDDEN' }) secret!: Generated<string>
  @Field('integer', { readOnly: true, default: 0 }) views!: Generated<number>

  @AdminAction({ label: 'Close', bulk: true, body: Reason })
  async close({ records, body }: ActionContext<Reason>): Promise<void> {
    if (this.subject.startsWith('Fire')) throw new HttpError(409, 'A fire stays open.')
    this.status = 'closed'
    await records(Comment).create({ ticketId: this.id, text: body.reason })
  }
}

@Row<Comment>({
  rows: (user) =>
    isAdmin(user) || { ticket: { orgId: typeof user?.org === 'number' ? user.org : -1 } },
  mutations: ['admin', 'editor'],
})
@Admin({ title: 'text', group: 'Desk' })
export class Comment {
  @Field('id') id!: number
  @Field('integer') ticketId!: number
  @BelongsTo(() => Ticket, { onDelete: 'cascade' }) ticket!: Rel<Ticket>
  @Field('string', { minLength: 2, maxLength: 200 }) text!: string
}

@Row({ version: true, mutations: 'admin' })
@Secured('admin')
@Admin({ title: 'code', group: 'People', help: 'What is paid for.' })
export class Contract {
  @Field('id') id!: number
  @Field('string', { pattern: '^[A-Z]+-[0-9]+$' }) code!: string
  @Field('decimal', { scale: 2, min: '0' }) fee!: string
  @Field('datetime', { nullable: true, optional: true }) signedAt?: string | null
  @Field('integer', { nullable: true, optional: true }) orgId?: number | null
  @BelongsTo(() => Org) org!: Rel<Org | null>
}

class Credentials {
  @Field('string', { maxLength: 100 }) name!: string
  @Field('string', { maxLength: 100 }) password!: string
}

const people: Readonly<globalThis.Record<string, Claims>> = {
  ann: { sub: 'ann', roles: ['admin'] },
  bob: { sub: 'bob', roles: ['admin'] },
  ed: { sub: 'ed', roles: ['editor'], org: 2 },
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

@Module({
  controllers: [Login],
  records: [Org, Label, Ticket, Comment, Contract],
  imports: [
    admin({
      path: '/admin',
      roles: ['admin', 'editor'],
      records: [Ticket, Comment, Label, Org, Contract],
      login: { path: '/login' },
    }),
  ],
})
export class DeskModule {}

const names = ['Northwind', 'Blue Harbour', 'Kestrel Labs', 'Oak & Sons', 'Vela Maritime']
const cities = ['Bergen', 'Porto', 'Kraków', 'Leeds', 'Trieste']
const subjects = [
  ...['Lamp in the hall flickers', 'Chair squeaks', 'Table is too low', 'No network on floor 3'],
  ...['Printer prints upside down', 'Coffee machine is cold', 'Fire door does not close'],
  ...['Badge is not read', 'Window cannot be opened', 'Invoice shows the old address'],
]

/** Thirty tickets of five organisations, the third of Kestrel Labs; what may not be seen has a word of its own. */
export async function fillDesk(database: Database): Promise<void> {
  for (const [index, name] of names.entries())
    await database.records(Org).create({ name, city: cities[index] })
  for (const name of ['hardware', 'building', 'urgent', 'billing'])
    await database.records(Label).create({ name })
  for (let index = 0; index < 30; index++) {
    const subject = subjects[index % 10]!
    await database.records(Ticket).create({
      subject: index < 10 ? subject : `${subject} again (${index})`,
      orgId: (index % 5) + 1,
      status: ['open', 'waiting', 'closed'][index % 3]!,
      priority: (index * 7) % 10,
      due: index % 4 === 0 ? null : `2026-12-${String(1 + (index % 28)).padStart(2, '0')}`,
      hours: index % 2 === 0 ? '1.50' : null,
      urgent: index % 7 === 0,
      body: 'Since Monday. We tried to turn it off and on again, without any change.',
      keywords: ['office', `floor ${index % 4}`],
      salary: `SALARY-SECURED ${index}`,
      labels: { connect: [(index % 4) + 1] },
    })
  }
  for (const text of ['A technician comes on Friday.', 'The part was ordered.'])
    await database.records(Comment).create({ ticketId: 1, text })
  for (const [index, code] of ['NW-1', 'BH-7', 'KL-12'].entries())
    await database.records(Contract).create({
      code,
      fee: `${index + 1}250.00`,
      orgId: index + 1,
      signedAt: '2026-03-01T09:30:00.000Z',
    })
}

export async function startDesk(): Promise<Application> {
  const app = await bootstrap(DeskModule, {
    ...{ port: 0, host: '127.0.0.1', logger: false, env: {} },
    ...{ database: 'sqlite::memory:', auth: { cookie: true } },
  })
  await fillDesk(app.get(Database))
  return app
}
