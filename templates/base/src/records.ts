/** The records: each class is a table with its rules and access rights. */
import {
  BeforeWrite,
  BelongsTo,
  Field,
  HasMany,
  Record,
  Secured,
  type Claims,
  type Generated,
  type Rel,
  type WriteContext,
} from 'filigree'

/** Only POST /accounts and POST /administrator create accounts. Callers who are signed in see their names. */
@Record({ writes: false })
@Secured
export class Account {
  @Field('id') id!: number
  @Field('string', { minLength: 2, maxLength: 80, unique: true, example: 'ann' }) name!: string
  @Field('string', { hidden: true }) passwordHash!: string
  @Field('boolean', { default: false }) isAdmin!: Generated<boolean>
  @HasMany(() => Ticket) tickets!: Rel<Ticket[]>
}

/** Callers see and change their own tickets, with REST and GraphQL. The administrator sees all tickets. */
@Record<Ticket>({
  timestamps: true,
  rows: (user) => isAdmin(user) || (user !== null && { accountId: Number(user.sub) }),
})
export class Ticket {
  @Field('id') id!: number
  @Field('string', { minLength: 1, maxLength: 200, example: 'The printer is out of paper' })
  title!: string
  @Field('boolean', { default: false, index: true }) done!: Generated<boolean>
  @Field('integer', { readOnly: true }) accountId!: Generated<number>
  @BelongsTo(() => Account) account!: Rel<Account>
  createdAt!: string
  updatedAt!: string

  /** A new ticket belongs to its author. */
  @BeforeWrite()
  setAccount({ before, caller }: WriteContext<Ticket>) {
    if (before === null && caller !== null) this.accountId = Number(caller.sub)
  }
}

function isAdmin(user: Claims | null): boolean {
  return Array.isArray(user?.roles) && user.roles.includes('admin')
}
