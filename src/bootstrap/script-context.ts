/** What code outside the server uses of an application: scripts of `filigree run`, and `filigree console`. */
import type { Class } from '../metadata/class.js'
import type { Database } from '../records/public-database.js'
import type { Repository } from '../records/repository.js'
import { createSqlTag, type SqlTag } from '../records/statements/builder.js'
import { ApplicationState } from '../serving/application-state.js'
import type { Application } from './application.js'

/** The argument of the function that a script of `filigree run` exports as default. */
export interface ScriptContext {
  /** The application, which does not listen. `app.inject` sends it a request. */
  readonly app: Application
  /** An instance of a provider: `get(Mail)`. */
  readonly get: Application['get']
  /** The repository of a record. It writes as the program, without a caller's rights. */
  readonly records: <T extends object>(type: Class<T>) => Repository<T>
  /** @throws {Error} the application has no database */
  readonly database: Database
  /** Runs a statement: ``const { rows } = await sql`select id from item` ``. */
  readonly sql: SqlTag
  /** The arguments after the file: `filigree run src/seed.ts -- --count 5`. */
  readonly args: readonly string[]
}

export async function createScriptContext(
  app: Application,
  args: readonly string[] = [],
): Promise<ScriptContext> {
  const { database } = app.get(ApplicationState)
  const available = (): NonNullable<typeof database> => {
    if (database === undefined)
      throw new Error('The application has no database, because it has no records.')
    return database
  }
  const tag = database && (await createSqlTag(database.kysely))
  return {
    app,
    get: (token) => app.get(token),
    records: (type) => available().records(type),
    get database() {
      return available()
    },
    sql: (strings, ...values) => {
      available()
      return (tag as SqlTag)(strings, ...values)
    },
    args,
  }
}
