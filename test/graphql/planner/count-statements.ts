/** Counts what a database is asked. */
import type { Engine, Runner, Statement } from '../../../src/engines/contract/engine.js'
import type { Database } from '../../../src/records/database.js'

/** @returns what the work answered, and every statement that it ran outside transactions */
export async function countStatements<T>(
  { context }: Database,
  work: () => Promise<T>,
): Promise<{ result: T; count: number; statements: Statement[] }> {
  const engine: Partial<Engine> & Engine = context.engine
  const statements: Statement[] = []
  const count = (runner: Pick<Runner, 'first' | 'rows'>): void => {
    const [first, rows] = [runner.first.bind(runner), runner.rows.bind(runner)]
    runner.first = (statement, values) => {
      statements.push(statement)
      return first(statement, values)
    }
    runner.rows = (statement, values) => {
      statements.push(statement)
      return rows(statement, values)
    }
  }
  count(engine)
  // What requests read that begin now goes its own way.
  const clientReads = engine.clientReads?.bind(engine)
  if (clientReads !== undefined) {
    engine.clientReads = (reading) => {
      const runner = clientReads(reading)
      count(runner)
      return runner
    }
  }
  try {
    const result = await work()
    return { result, count: statements.length, statements }
  } finally {
    // What stands on the instance hides its class's methods.
    Reflect.deleteProperty(engine, 'first')
    Reflect.deleteProperty(engine, 'rows')
    Reflect.deleteProperty(engine, 'clientReads')
  }
}
