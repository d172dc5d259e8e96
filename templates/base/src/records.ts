/** The records: each class is a table, with its rules and rights. */
import {
  BeforeWrite,
  BelongsTo,
  Field,
  HasMany,
  Record,
  Secured,
  type Generated,
  type Rel,
  type WriteContext,
} from 'filigree'

/** Accounts are made by POST /accounts alone; who is signed in sees their names. */
@Record({ writes: false })
@Secured
export class Account {
  @Field('id') id!: number
  @Field('string', { minLength: 2, maxLength: 80, unique: true, example: 'ann' }) name!: string
  @Field('string', { hidden: true }) passwordHash!: string
  @HasMany(() => Ticket) tickets!: Rel<Ticket[]>
}

/** Everybody who is signed in sees and changes their own tickets, by REST and by GraphQL. */
@Record<Ticket>({
  timestamps: true,
  rows: (user) => user !== null && { accountId: Number(user.sub) },
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

  /** A new ticket belongs to whoever writes it. */
  @BeforeWrite()
  setAccount({ before, caller }: WriteContext<Ticket>) {
    if (before === null && caller !== null) this.accountId = Number(caller.sub)
  }
}
