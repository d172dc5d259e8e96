/** Application code that uses the inferred types of the package. */
import {
  bootstrap,
  connect,
  events,
  Field,
  file,
  GraphQL,
  html,
  omit,
  Page,
  partial,
  pick,
  redirect,
  reply,
  Secured,
  type Auth,
  type Database,
  type Repository,
} from 'filigree'
import { api, createClient } from 'filigree/client'
import { retry } from 'filigree/client/retry'

export class User {
  @Field('id') id!: number
  @Field('string') name!: string
}

export class Credentials extends pick(User, 'name') {}
export class NewUser extends omit(User, 'id') {}
export class UserChanges extends partial(NewUser) {}
export const UserPage = Page.of(User)

export const AdminsOnly = Secured('admin')
export const Name = (maxLength: number) => Field('string', { maxLength })

export class ReportController {
  page() {
    return html('<h1>Reports</h1>')
  }
  table(token: string) {
    return reply({ rows: 2 }, 201).type('application/json').freshToken(token)
  }
  old() {
    return redirect('/reports')
  }
  manual(path: string) {
    return file(path, { root: './manuals' })
  }
  ticks() {
    return events(['one'])
  }
}

export const openDatabase = () => connect('sqlite::memory:', { records: [User] })
export const users = (database: Database) => database.records(User)
export const builder = (database: Database) => database.kysely
export const listUsers = (repository: Repository<User>) => repository.list.bind(repository)
// @ts-expect-error misspelt: no relation of a user
export const misspelt = (repository: Repository<User>) => repository.list({ with: ['tems'] })
// @ts-expect-error other kind: a pattern for a number
export const pattern = (repository: Repository<User>) => repository.count({ id: { like: '1%' } })
export const countUsers = (repository: Repository<User>) => repository.count.bind(repository)
export const follow = (database: Database) => database.onChange.bind(database)
export const verify = (auth: Auth, token: string) => auth.verify(token)

export const graphql = new GraphQL()
export const { schema } = graphql
export const run = (query: string) => graphql.execute(query)

export const start = () => bootstrap(User)
export const request = async () => (await start()).inject({ url: '/' })
export const client = createClient({ fetch: retry() })
export const shared = api
