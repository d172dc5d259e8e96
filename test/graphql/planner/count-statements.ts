/** Counts what a database is asked. */
import type { Engine, Runner, Statement } from '../../../src/engines/contract/engine.js'
import type { Database } from '../../../src/records/database.js'

type Writable = Engine & { clientReads?: Engine['clientReads'] | undefined }

/** @returns what the work answered, and every statement that it ran outside transactions */
export async function countStatements<T>(
  { context }: Database,
  work: () => Promise<T>,
): Promise<{ result: T; count: number; statements: Statement[] }> {
  const engine: Writable = context.engine
  const statements: Statement[] = []
  const count = (runner: Runner): void => {
    const run = runner.run.bind(runner)
    runner.run = (statement, values, wanted) => {
      if (wanted === 'rows' || wanted === 'first') statements.push(statement)
      return run(statement, values, wanted)
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
    Reflect.deleteProperty(engine, 'run')
    engine.clientReads = clientReads
  }
}
