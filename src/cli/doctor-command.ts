/** `filigree doctor --database`: lists queries of the last hour that read whole tables. */
import { planApplication } from '../bootstrap/plan-application.js'
import { findScans } from '../records/scans/find-scans.js'
import type { Command } from './command.js'
import { loadApplication } from './load-application.js'
import { readArguments } from './read-arguments.js'
import { openDatabase } from './open-database.js'
import { exitCodes, UsageError, type Terminal } from './terminal.js'

const usage = `filigree doctor --database [--module module.js]
  Names the queries of the last hour that read whole tables, and the index that would serve each: what a start in
  development has seen, and what the server keeps of its statements, where it does. Changes nothing`

export const doctorCommand: Command = {
  usage,
  summary: 'queries that read whole tables',
  run,
}

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values: given } = readArguments(args, { database: 'switch', module: 'text' }, 0)
  if (!given.database) throw new UsageError('Say what to examine: filigree doctor --database.')
  const { module, options } = await loadApplication(given.module, terminal)
  const plan = await planApplication(module, { ...options, logger: false })
  const database = await openDatabase(plan, options.database, terminal)
  try {
    const found = await findScans(database)
    const lines =
      found.length === 0
        ? ['No query of the last hour is known to have read a whole table.']
        : found
    await terminal.out(`${lines.join('\n')}\n`)
    return exitCodes.done
  } finally {
    await database.close()
  }
}
