/** The accounts that can sign in, with hashed passwords, in the database. */
import { Database, Field, type Generated, Record } from 'filigree'

@Record({ writes: false })
export class Account {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string
  @Field('string', { hidden: true }) password!: string
  @Field('json', { default: [] }) roles!: Generated<string[]>
  @Field('boolean', { default: false }) blocked!: Generated<boolean>
}

export class Users {
  static inject = [Database]
  constructor(private readonly database: Database) {}

  async named(name: string): Promise<Account | undefined> {
    const [account] = await this.database.records(Account).list({ where: { name }, limit: 1 })
    return account
  }

  find(id: number): Promise<Account | null> {
    return this.database.records(Account).find(id)
  }
}
