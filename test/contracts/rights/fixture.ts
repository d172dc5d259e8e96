/** The records of the rights suite, one for each rule, and the application with its callers. */
import { sql } from 'kysely'
import {
  type Application,
  Auth,
  BelongsTo,
  bootstrap,
  type Claims,
  Controller,
  Field,
  type Generated,
  GraphQL,
  HasMany,
  ManyToMany,
  Module,
  NoAuth,
  Post as PostRoute,
  Record,
  type Rel,
  type RowsCaller,
  Secured,
  connect,
  type Database,
} from '../../../src/index.js'
import { mcp, Tool } from '../../../src/modules/mcp/mcp.js'
import { admin } from '../../../src/modules/admin/admin.js'
import type { Class } from '../../public-types.js'

/** Callers see their own rows. Administrators and the operator see all rows. */
const ownRows = (field: string) => (user: Claims | null, caller: RowsCaller) => {
  if (caller.by === 'key' || user?.roles?.includes('admin') === true) return true
  return { or: [{ [field]: user?.sub ?? '' }, { [field]: 'everybody' }] }
}

/** Whether asynchronous guards throw. */
export const guards = { fail: false }

/** An asynchronous guard, like one that calls another service. */
async function asyncGuard(claims: Claims | null): Promise<boolean> {
  await new Promise((resolve) => setImmediate(resolve))
  if (guards.fail) throw new Error('The other service is not available.')
  return claims === null || claims.sub === 'ann'
}

/** `rows` */
@Record({ rows: ownRows('owner') })
export class Account {
  @Field('id') id!: number
  @Field('string') iban!: string
  @Field('string') owner!: string
  @HasMany(() => Post) posts!: Rel<Post[]>
}

/** `rows`, with a key of two fields. */
@Record({ key: ['book', 'place'], rows: ownRows('owner') })
export class Chapter {
  @Field('integer') book!: number
  @Field('integer') place!: number
  @Field('string') text!: string
  @Field('string') owner!: string
}

/** A public record with references to the other records. */
@Record
export class Post {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('integer', { optional: true, nullable: true }) accountId?: number | null
  @BelongsTo(() => Account) account?: Rel<Account>
  @Field('integer', { optional: true, nullable: true }) vaultId?: number | null
  @BelongsTo(() => Vault) vault?: Rel<Vault>
  @Field('integer', { optional: true, nullable: true }) staffId?: number | null
  @BelongsTo(() => Staff) staff?: Rel<Staff>
  @Field('integer', { optional: true, nullable: true }) draftId?: number | null
  @BelongsTo(() => Draft) draft?: Rel<Draft>
  @Field('integer', { optional: true, nullable: true }) shiftId?: number | null
  @BelongsTo(() => Shift) shift?: Rel<Shift>
  @Field('integer', { optional: true, nullable: true }) ledgerId?: number | null
  @BelongsTo(() => Ledger) ledger?: Rel<Ledger>
  @Field('integer', { optional: true, nullable: true }) noteId?: number | null
  @BelongsTo(() => Note) note?: Rel<Note>
  @Field('integer', { optional: true, nullable: true, hidden: true }) privateStaffId?: number | null
  @Field('json', { hidden: true, optional: true })
  @BelongsTo(() => Staff)
  privateStaff?: Rel<Staff>
}

/** The `rows` function of notes, which tests replace. */
export const noteRows: { rows: (user: Claims | null) => unknown } = { rows: () => false }

/** `rows` with a result that a test chooses. */
@Record({ rows: (user) => noteRows.rows(user) as boolean })
export class Note {
  @Field('id') id!: number
  @Field('string') text!: string
  @Field('string') owner!: string
}

/** `@Secured` with a role. */
@Record
@Secured('admin')
export class Vault {
  @Field('id') id!: number
  @Field('string') word!: string
}

/** `@Secured` with a role, and `writes` for callers who may not read. */
@Record({ version: true, writes: { create: ['desk', 'admin'], update: ['desk', 'admin'] } })
@Secured('admin')
export class Invoice {
  @Field('id') id!: number
  @Field('string', { unique: true }) code!: string
  @Field('string', { default: 'unpaid' }) state!: Generated<string>
  @Field('string', { readOnly: true, default: 'private-memo' }) memo!: Generated<string>
}

/** `@Secured` by the time and the means of the sign-in. */
@Record
@Secured({ fresh: '10m', amr: 'mfa' })
export class Till {
  @Field('id') id!: number
  @Field('string') word!: string
}

/** `@Secured` with a synchronous guard. */
@Record
@Secured((claims) => claims === null || claims.sub === 'ann')
export class Shift {
  @Field('id') id!: number
  @Field('string') word!: string
}

/** `@Secured` with an asynchronous guard. */
@Record
@Secured(asyncGuard)
export class Ledger {
  @Field('id') id!: number
  @Field('string') word!: string
}

/** Fields: `@Secured`, `hidden`, `readOnly`. */
@Record
export class Staff {
  @Field('id') id!: number
  @Field('string') name!: string
  @Secured('admin')
  @Field('integer', { default: 1000 })
  salary!: Generated<number>
  @Secured(asyncGuard)
  @Field('integer', { default: 100 })
  bonus!: Generated<number>
  @Field('string', { hidden: true, default: 'shh' }) secret!: Generated<string>
  @Field('string', { readOnly: true, default: 'house' }) source!: Generated<string>
}

/** `writes` for a role, and `writes: false`. */
@Record({ writes: 'admin' })
export class Notice {
  @Field('id') id!: number
  @Field('string') text!: string
  @ManyToMany(() => Ticket) tickets!: Rel<Ticket[]>
}
@Record({ writes: false })
export class Entry {
  @Field('id') id!: number
  @Field('string') text!: string
}

/** `writes` for each operation. */
@Record({ writes: { create: ['desk', 'guest'], update: 'desk', delete: false } })
export class Visit {
  @Field('id') id!: number
  @Field('string') text!: string
}

/** `writes` on fields and on a reference. */
@Record
export class Ticket {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('string', { writes: 'admin', default: 'open', nullable: true })
  status!: Generated<string | null>
  @Field('string', { writes: false, default: 'house' }) source!: Generated<string>
  @Field('integer', { optional: true, nullable: true }) visitId?: number | null
  @BelongsTo(() => Visit) visit?: Rel<Visit>
  @Field('integer', { optional: true, nullable: true, writes: 'admin' }) memberId?: number | null
  @BelongsTo(() => Member) member?: Rel<Member>
  @ManyToMany(() => Notice) notices!: Rel<Notice[]>
  @ManyToMany(() => Notice, { through: 'ticket_pin', writes: ['guest', 'desk'] })
  pins!: Rel<Notice[]>
  @ManyToMany(() => Entry) entries!: Rel<Entry[]>
  @ManyToMany(() => Wish, { writes: false }) wishes!: Rel<Wish[]>
}

/** `@NoAuth` */
@Record
@NoAuth
export class Wish {
  @Field('id') id!: number
  @Field('string') text!: string
}

/** `softDelete` */
@Record({ softDelete: true })
export class Draft {
  @Field('id') id!: number
  @Field('string') text!: string
}

/** Rows by links, and rows by the rows of another record. */
@Record({
  rows: (user, { by }) => by === 'key' || (user !== null && { members: { login: user.sub } }),
})
export class Project {
  @Field('id') id!: number
  @Field('string') name!: string
  @ManyToMany(() => Member) members!: Rel<Member[]>
  @HasMany(() => Task) tasks!: Rel<Task[]>
}
@Record
export class Member {
  @Field('id') id!: number
  @Field('string') login!: string
  @ManyToMany(() => Project) projects!: Rel<Project[]>
}
@Record({
  rows: (user, { by }) =>
    by === 'key' || {
      or: [{ project: { members: { login: user?.sub ?? '' } } }, { owner: 'everybody' }],
    },
})
export class Task {
  @Field('id') id!: number
  @Field('string') text!: string
  @Field('string', { default: 'members' }) owner!: Generated<string>
  @Field('integer') projectId!: number
  @BelongsTo(() => Project) project!: Rel<Project>
}

export const records = {
  Account,
  Chapter,
  Draft,
  Entry,
  Invoice,
  Ledger,
  Member,
  Note,
  Notice,
  Post,
  Project,
  Shift,
  Staff,
  Task,
  Ticket,
  Till,
  Vault,
  Visit,
  Wish,
}
export type RecordName = keyof typeof records

export function classOf(name: RecordName): Class {
  return records[name]
}

/** Decorators of `crud` controllers, by the path prefix of the controllers that have them. */
export const decorators = {
  '': undefined,
  '/token': Secured(),
  '/role': Secured('guest'),
  '/guard': Secured(asyncGuard),
  '/open': NoAuth(),
} as const
export type DecoratedAt = keyof typeof decorators

function controllersOf(name: RecordName) {
  return (Object.keys(decorators) as DecoratedAt[]).map((at) => {
    class Crud {}
    // MCP tools are named after the controller: `listAccount`.
    Object.defineProperty(Crud, 'name', { value: `${name}Controller${at.replace('/', '_')}` })
    Controller(`${at}/${name.toLowerCase()}`, { crud: records[name] })(Crud)
    decorators[at]?.(Crud)
    if (at === '') Tool()(Crud)
    return Crud
  })
}

class Credentials {
  @Field('string') name!: string
}

/** The tables of the records, each before those that it refers to, with the tables that refer to it. */
const referringTables: { readonly [table: string]: readonly string[] } = {
  chapter: [],
  post: [],
  notice_ticket: [],
  ticket_pin: [],
  entry_ticket: [],
  ticket_wish: [],
  ticket: ['notice_ticket', 'ticket_pin', 'entry_ticket', 'ticket_wish'],
  visit: ['ticket'],
  ledger: ['post'],
  note: ['post'],
  task: [],
  member_project: [],
  member: ['ticket', 'member_project'],
  project: ['task', 'member_project'],
  account: ['post'],
  vault: ['post'],
  till: [],
  invoice: [],
  shift: ['post'],
  staff: ['post'],
  notice: ['notice_ticket', 'ticket_pin'],
  entry: ['entry_ticket'],
  wish: ['ticket_wish'],
  draft: ['post'],
}
const tables = Object.keys(referringTables)

/** The tables whose rows are deleted and inserted again because the rows of one changed. */
function tablesToRestore(changed: string): string[] {
  return [changed, ...(referringTables[changed] ?? []).flatMap(tablesToRestore)]
}

/** The statements that restore tables, each with the names of its table's causes. */
const restoreStatements: readonly (readonly [statement: string, causes: readonly string[]])[] = [
  ...tables.map((table) => [`delete from ${table}`, table] as const),
  ...tables
    .toReversed()
    .map((table) => [`insert into ${table} select * from copy_${table}`, table] as const),
].map(([statement, table]) => [
  statement,
  tables.filter((changed) => tablesToRestore(changed).includes(table)),
])

/**
 * Statements that record in `changed_table` which tables have other rows than at the start. Every caller of every case
 * compares and restores the rows, and most write none, or those of one table.
 */
const tracking = {
  sqlite: [
    'create table changed_table (name text)',
    ...tables.flatMap((table) =>
      ['insert', 'update', 'delete'].map(
        (event) =>
          `create trigger ${event}_${table} after ${event} on ${table} begin insert into changed_table values ('${table}'); end`,
      ),
    ),
  ],
  postgres: [
    'create table changed_table (name text)',
    `create function record_change() returns trigger language plpgsql as $$ begin
      if current_setting('rights.restores', true) is distinct from 'yes' then
        insert into changed_table values (tg_table_name);
      end if;
      return null;
    end $$`,
    ...tables.map(
      (table) =>
        `create trigger change after insert or update or delete on ${table} for each row execute function record_change()`,
    ),
    // A function keeps the plans of its statements.
    `create function restore_rows() returns void language plpgsql as $$
      declare changed text[] := (select array_agg(name) from changed_table);
      begin
        if changed is null then return; end if;
        perform set_config('rights.restores', 'yes', true);
        ${restoreStatements
          .map(
            ([statement, causes]) =>
              `if changed && array['${causes.join("', '")}'] then ${statement}; end if;`,
          )
          .join('\n')}
        delete from changed_table;
      end $$`,
  ],
}

/** The sign-in that the admin page names. */
@Controller('/login')
class Login {
  @PostRoute({ body: Credentials })
  @NoAuth
  login(): object {
    return {}
  }
}

// Agents can use the records, and the routes of controllers without a decorator.
for (const type of Object.values<Class>(records)) Tool({ writes: true })(type)

const relay = new GraphQL({ relay: true })
for (const type of Object.values<Class>(records)) relay.schema.fromOrm(type)

@Module({
  records: Object.values(records),
  imports: [
    mcp(),
    admin({
      path: '/admin',
      roles: ['admin', 'guest', 'desk'],
      records: Object.values<new () => object>(records),
      login: { path: '/login' },
    }),
  ],
  graphql: [relay.registerRoute('/relay')],
  controllers: [Login, ...(Object.keys(records) as RecordName[]).flatMap(controllersOf)],
})
class RightsModule {}

export const callers = ['anonymous', 'ann', 'bob', 'guest', 'admin', 'key', 'revoked'] as const
export type CallerName = (typeof callers)[number]

const operatorKey = 'a-key-of-sixteen-letters'

export class Fixture {
  app!: Application
  database!: Database
  /** The messages that were logged as errors. */
  readonly loggedErrors: string[] = []
  readonly tokens = new Map<CallerName, string>([['key', operatorKey]])
  #isClear = false
  /** The rows of all tables that every test begins with. */
  initialRows: unknown

  async open(url: string): Promise<void> {
    const silent = (): void => undefined
    const error = (_details: object, message: string): void => {
      this.loggedErrors.push(message)
    }
    const log = { error, warn: silent, info: silent, debug: silent }
    this.database = await connect(url, { records: Object.values(records), log })
    await this.database.sync()
    this.app = await bootstrap(RightsModule, {
      database: this.database,
      port: 0,
      host: '127.0.0.1',
      logger: false,
      env: { APP_API_KEY: operatorKey },
    })
    const { schema } = this.app.graphql
    for (const name of Object.keys(records))
      schema.addField(name, 'slow', { type: 'String', needs: [], resolve: () => 'slow' })
    const auth = this.app.get(Auth)
    const roles: Partial<Record<CallerName, string[]>> = {
      admin: ['admin'],
      guest: ['guest'],
      ann: ['desk'],
      bob: ['desk'],
    }
    // Ann has signed in recently and by two means, Bob too long ago, the guest by one means.
    const longAgo = Math.floor(Date.now() / 1000) - 660
    const signedIn: { readonly [Name in CallerName]?: object } = {
      ann: { amr: ['pwd', 'mfa'] },
      bob: { amr: ['pwd', 'mfa'], auth_time: longAgo },
      guest: { amr: ['pwd'] },
    }
    for (const name of ['ann', 'bob', 'guest', 'admin'] as const)
      this.tokens.set(
        name,
        await auth.getToken({ sub: name, roles: roles[name] ?? [], ...signedIn[name] }),
      )
    const revoked = await auth.getToken({ sub: 'ann', roles: ['admin'], jti: 'gone' })
    await auth.revoke('gone')
    this.tokens.set('revoked', revoked)
  }

  async close(): Promise<void> {
    await this.app.close()
    await this.database.close()
  }

  /** The rows of all tables. */
  async snapshot(): Promise<unknown> {
    const { rows } = await this.#run('select name from changed_table limit 1')
    return rows.length === 0 ? this.initialRows : this.#readRows()
  }

  /** Marks the rows as unchanged, so that the next `restore` has nothing to do. */
  markUnchanged(): void {
    this.#isClear = true
  }

  /** Restores the rows that every test begins with. */
  async restore(): Promise<void> {
    noteRows.rows = ownRows('owner') as typeof noteRows.rows
    if (this.#isClear) {
      this.#isClear = false
      return
    }
    if (this.initialRows === undefined) await this.#begin()
    else if (this.database.engineName === 'postgres') await this.#run('select restore_rows()')
    else await this.#restoreTables()
  }

  async #begin(): Promise<void> {
    const { kysely, engineName } = this.database
    await this.#createRows()
    for (const table of tables)
      await kysely.schema
        .createTable(`copy_${table}`)
        .as(kysely.selectFrom(table).selectAll())
        .execute()
    for (const statement of tracking[engineName as keyof typeof tracking])
      await this.#run(statement)
    this.initialRows = await this.#readRows()
  }

  async #restoreTables(): Promise<void> {
    const { rows } = await this.#run('select distinct name from changed_table')
    if (rows.length === 0) return
    for (const [statement, causes] of restoreStatements)
      if (rows.some(({ name }) => causes.includes(name))) await this.#run(statement)
    await this.#run('delete from changed_table')
  }

  async #readRows(): Promise<unknown[]> {
    const read = tables.map((table) => this.#run(`select * from ${table}`))
    return (await Promise.all(read)).map(({ rows }) => rows)
  }

  #run(statement: string): Promise<{ readonly rows: readonly { readonly name: string }[] }> {
    return sql.raw<{ readonly name: string }>(statement).execute(this.database.kysely)
  }

  async #createRows(): Promise<void> {
    const { database } = this
    await database.records(Chapter).insertMany([
      { book: 1, place: 1, text: 'A', owner: 'ann' },
      { book: 1, place: 2, text: 'B', owner: 'bob' },
    ])
    await database.records(Account).insertMany([
      { id: 1, iban: 'DE-A', owner: 'ann' },
      { id: 2, iban: 'DE-B', owner: 'bob' },
    ])
    await database.records(Vault).create({ id: 1, word: 'gold' })
    await database.records(Invoice).create({ id: 1, code: 'A' })
    await database.records(Till).create({ id: 1, word: 'cash' })
    await database.records(Shift).create({ id: 1, word: 'night' })
    await database.records(Ledger).create({ id: 1, word: 'debt' })
    await database.records(Staff).insertMany([
      { id: 1, name: 'Ada', salary: 5000, bonus: 1 },
      { id: 2, name: 'Bea', salary: 7000, bonus: 2 },
    ])
    await database.records(Notice).create({ id: 1, text: 'n' })
    await database.records(Entry).create({ id: 1, text: 'e' })
    await database.records(Wish).create({ id: 1, text: 'w' })
    await database.records(Draft).insertMany([
      { id: 1, text: 'd' },
      { id: 2, text: 'gone' },
      // No post refers to it, so it can be deleted.
      { id: 3, text: 'free' },
    ])
    await database.records(Draft).delete(2)
    await database.records(Note).create({ id: 1, text: 'n', owner: 'ann' })
    const keys = { vaultId: 1, staffId: 2, draftId: 1, shiftId: 1, ledgerId: 1, noteId: 1 }
    await database.records(Post).insertMany([
      { id: 1, title: 'a', accountId: 1, ...keys },
      { id: 2, title: 'b', accountId: 2, ...keys },
    ])
    await database.records(Project).insertMany([
      { id: 1, name: 'p1' },
      { id: 2, name: 'p2' },
    ])
    await database.records(Member).insertMany([
      { id: 1, login: 'ann' },
      { id: 2, login: 'bob' },
    ])
    await database.records(Member).link(1, 'projects', [1])
    await database.records(Member).link(2, 'projects', [2])
    await database.records(Visit).create({ id: 1, text: 'v' })
    await database.records(Ticket).create({ id: 1, title: 't', visitId: 1, memberId: 2 })
    await database.records(Notice).create({ id: 2, text: 'linked' })
    await database.records(Ticket).link(1, 'notices', [2])
    await database.records(Task).insertMany([
      { id: 1, text: 't1', projectId: 1 },
      { id: 2, text: 't2', projectId: 2 },
    ])
  }
}
