/** `filigree doctor`: lists queries of the last hour that read whole tables, and what is open to everybody. */
import { openDoors } from '../bootstrap/open-doors.js'
import { planApplication } from '../bootstrap/plan-application.js'
import { findScans } from '../records/scans/find-scans.js'
import type { Command } from './command.js'
import { loadApplication } from './load-application.js'
import { readArguments } from './read-arguments.js'
import { openDatabase } from './open-database.js'
import { exitCodes, UsageError, type Terminal } from './terminal.js'

const usage = `filigree doctor --database | --production [--module module.js]
  Names the queries of the last hour that read whole tables, and the index that would serve each: what a start in
  development has seen, and what the server keeps of its statements, where it does. Changes nothing.
  --production lists what everybody may read and write without a token; it needs no database`

export const doctorCommand: Command = {
  usage,
  summary: 'queries that read whole tables, and what is open to everybody',
  run,
}

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values: given } = readArguments(
    args,
    { database: 'switch', production: 'switch', module: 'text' },
    0,
  )
  if (!given.database && !given.production) {
    throw new UsageError('Say what to examine: filigree doctor --database, or --production.')
  }
  const { module, options } = await loadApplication(given.module, terminal)
  const plan = await planApplication(module, { ...options, logger: false })
  if (given.production) {
    const open = openDoors(plan, options).map((one) => `- ${one}`)
    await terminal.out(`Everybody may, without a token:\n${open.join('\n')}\n`)
    if (!given.database) return exitCodes.done
  }
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
