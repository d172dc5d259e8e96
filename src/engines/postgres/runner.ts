/** Runs all kinds of statements on PostgreSQL in one way; they differ in the part of the answer that is wanted. */
import type { QueryResult, Row, Runner, Statement } from '../contract/engine.js'
import type { Wanted } from './call.js'

export abstract class PostgresRunner implements Runner {
  rows(statement: Statement, values: readonly unknown[]): Promise<readonly Row[]> {
    return this.run(statement, values, 'rows')
  }

  first(statement: Statement, values: readonly unknown[]): Promise<Row | undefined> {
    return this.run(statement, values, 'first')
  }

  change(statement: Statement, values: readonly unknown[]): Promise<number> {
    return this.run(statement, values, 'count')
  }

  query(statement: Statement, values: readonly unknown[]): Promise<QueryResult> {
    return this.run(statement, values, 'all')
  }

  abstract script(sql: string): Promise<void>

  /** @param wanted statements with `all` are not prepared: they run once */
  abstract run<T>(statement: Statement, values: readonly unknown[], wanted: Wanted): Promise<T>
}
