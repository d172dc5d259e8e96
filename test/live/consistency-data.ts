/**
 * A small data set for live queries: tickets of organisations, which members may read, and random writes by every write API.
 * The text of a ticket names who may not see it at that time. `not for 3` is in tickets of an organisation only while user 3
 * is not a member, and `private` only while a ticket is not public.
 */
import { sql } from 'kysely'
import {
  BelongsTo,
  Controller,
  Database,
  Field,
  Get,
  HasMany,
  Live,
  Module,
  Record as Table,
  type Claims,
  type Rel,
  type Transaction,
} from '../../src/index.js'

@Table()
export class Org {
  @Field('id') id!: number
  @Field('text') name!: string
  @HasMany(() => Member) members!: Rel<Member[]>
}

@Table()
export class Member {
  @Field('id') id!: number
  @Field('integer') userId!: number
  @Field('integer') orgId!: number
  @BelongsTo(() => Org) org!: Rel<Org>
}

@Table<Ticket>({
  rows: (user) =>
    user === null ? { isOpen: true } : { org: { members: { userId: Number(user.sub) } } },
})
export class Ticket {
  @Field('id') id!: number
  @Field('text') title!: string
  @Field('text', { default: 'new' }) status!: string
  @Field('boolean', { default: false }) isOpen!: boolean
  @Field('integer') orgId!: number
  @BelongsTo(() => Org) org!: Rel<Org>
  @HasMany(() => Comment) comments!: Rel<Comment[]>
}

@Table()
export class Comment {
  @Field('id') id!: number
  @Field('text') text!: string
  @Field('integer') ticketId!: number
  @BelongsTo(() => Ticket, { onDelete: 'cascade' }) ticket!: Rel<Ticket>
}

export const records = [Org, Member, Ticket, Comment]
export const orgs = [1, 2, 3]
export const users = [1, 2, 3, 4]
const statuses = ['new', 'open', 'done']

@Controller('/tickets', { crud: () => Ticket, only: ['list', 'find'] })
class TicketController {}

@Controller('/statuses')
class StatusController {
  static inject = [Database]
  constructor(private readonly database: Database) {}

  @Get('/<status>', { args: ['status'] })
  @Live
  async ofStatus(status: string) {
    const tickets = this.database.records(Ticket)
    const newest = await tickets.list({ where: { status }, orderBy: { id: 'desc' }, limit: 3 })
    return { count: await tickets.count({ status }), newest: newest.map(({ id }) => id) }
  }

  @Get('/mine', { args: ['user'] })
  @Live
  async mine(user: Claims | null) {
    const userId = Number(user?.sub ?? 0)
    return this.database.records(Member).list({ where: { userId }, orderBy: { id: 'asc' } })
  }
}

@Module({ records, controllers: [TicketController, StatusController] })
export class TicketModule {}

export async function fillTables(database: Database): Promise<void> {
  for (const id of orgs) {
    await database.records(Org).create({ name: `org ${id}` })
    for (let count = 0; count < 5; count++)
      await database.records(Ticket).create({ title: `ticket ${count}`, orgId: id } as never)
  }
  for (const userId of users)
    await database.records(Member).create({ userId, orgId: userId % 3 || 3 })
}

/** Attempts `count` random writes. @returns how many of them were stored */
export async function writeRandomly(
  database: Database,
  count: number,
  random: () => number,
): Promise<number> {
  let done = 0
  for (let index = 0; index < count; index++) {
    try {
      await writeOnce(database, random, index)
      done++
    } catch {
      // Rolled back, in conflict with another writer, or the row was deleted.
    }
  }
  return done
}

async function writeOnce(database: Database, random: () => number, index: number): Promise<void> {
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T
  const tickets = database.records(Ticket)
  const orgId = pick(orgs)
  const anyId = async (): Promise<number> => {
    const found = await tickets.list({ limit: 40, orderBy: { id: 'desc' } })
    return pick(found).id
  }
  const kind = Math.floor(random() * 13)
  if (kind <= 1)
    await tickets.create({ title: `t${index}`, status: pick(statuses), orgId } as never)
  else if (kind === 2) await tickets.update(await anyId(), { title: `u${index}` })
  else if (kind === 3) await tickets.update(await anyId(), { status: pick(statuses) })
  else if (kind === 4) await toggleOpen(database, await anyId())
  else if (kind === 5) await tickets.delete(await anyId())
  else if (kind === 6)
    await tickets.updateWhere({ status: pick(statuses), orgId } as never, {
      status: pick(statuses),
    })
  else if (kind === 7)
    await database.kysely
      .updateTable('ticket')
      .set({ status: pick(statuses) })
      .where('id', '=', await anyId())
      .execute()
  else if (kind === 8)
    await sql`update ticket set title = ${`h${index}`} where id = ${await anyId()}`.execute(
      database.kysely,
    )
  else if (kind === 9)
    await database.records(Comment).create({ text: `c${index}`, ticketId: await anyId() })
  else if (kind === 10)
    await database.transaction(async (tx) => {
      await tx.records(Ticket).create({ title: `never ${index}`, orgId } as never)
      await tx.kysely
        .updateTable('ticket')
        .set({ title: `never ${index}` })
        .execute()
      throw new Error('taken back')
    })
  else await changeMember(database, pick(users), orgId)
}

/** The text says private only while the ticket is not public. */
async function toggleOpen(database: Database, id: number): Promise<void> {
  await database.transaction(async (tx) => {
    const found = await tx.records(Ticket).find(id, { lock: true })
    if (found === null) return
    const isOpen = !found.isOpen
    await tx.records(Ticket).update(id, { isOpen, title: isOpen ? 'opened' : 'private' })
  })
}

/**
 * A member leaves, and then the texts of the tickets name the user; or joins, after the name is removed from the texts. Two
 * transactions that change the same organisation run one after another, and each sees the writes of the other. At a higher
 * isolation level the second one would continue with the state from before its wait.
 */
async function changeMember(database: Database, userId: number, orgId: number): Promise<void> {
  const mark = ` not for ${userId}.`
  const where = { orgId } as never
  const change = async (tx: Transaction): Promise<void> => {
    await tx.records(Org).find(orgId, { lock: true })
    const members = tx.records(Member)
    const [member] = await members.list({ where: { userId, orgId } as never, limit: 1 })
    const all = await tx.records(Ticket).list({ where, limit: 1000 })
    if (member === undefined) {
      for (const { id, title } of all)
        if (title.includes(mark))
          await tx.records(Ticket).update(id, { title: title.replaceAll(mark, '') })
      await members.create({ userId, orgId })
      return
    }
    await members.delete(member.id)
    for (const { id, title } of all.slice(-6))
      await tx.records(Ticket).update(id, { title: title + mark })
  }
  await database.transaction(change, { isolation: 'read committed' })
}
