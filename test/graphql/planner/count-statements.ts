/** Counts what a database is asked. */
import type { Engine, Statement } from '../../../src/records/engines/engine.js'
import type { Database } from '../../../src/records/database.js'

/** @returns what the work answered, and every statement that it ran outside transactions */
export async function countStatements<T>(
  { context }: Database,
  work: () => Promise<T>,
): Promise<{ result: T; count: number; statements: Statement[] }> {
  const engine: Partial<Engine> & Engine = context.engine
  const statements: Statement[] = []
  const [first, rows] = [engine.first.bind(engine), engine.rows.bind(engine)]
  engine.first = (statement, values) => {
    statements.push(statement)
    return first(statement, values)
  }
  engine.rows = (statement, values) => {
    statements.push(statement)
    return rows(statement, values)
  }
  try {
    const result = await work()
    return { result, count: statements.length, statements }
  } finally {
    // What stands on the instance hides its class's methods.
    Reflect.deleteProperty(engine, 'first')
    Reflect.deleteProperty(engine, 'rows')
  }
}
