/** Starts an application for a script or the console: with its providers, without a port and without running jobs. */
import { bootstrap } from '../bootstrap/bootstrap.js'
import { isJobRecord } from '../bootstrap/learn-secrets.js'
import { collectParts } from '../bootstrap/module.js'
import { createScriptContext, type ScriptContext } from '../bootstrap/script-context.js'
import { Problems } from '../errors/problems.js'
import type { Class } from '../metadata/class.js'
import type { Terminal } from './command.js'
import { warningsTo, type LoadedApplication } from './load-application.js'

export interface OpenScript {
  readonly context: ScriptContext
  /** The classes of the application's records. */
  readonly records: readonly Class[]
  readonly close: () => Promise<void>
}

/** @throws {DeclarationError} the application cannot start */
export async function openScript(
  { module, options }: LoadedApplication,
  terminal: Terminal,
  args: readonly string[] = [],
): Promise<OpenScript> {
  const { records } = collectParts(module, new Problems())
  const override = [...(options.override ?? [])]
  // Jobs of the script wait for the processes that run jobs.
  if (records.some(isJobRecord)) override.push(['filigree.jobs.overrides', { work: false }])
  const logger = typeof options.logger === 'object' ? options.logger : warningsTo(terminal)
  const app = await bootstrap(module, { ...options, listen: false, logger, override })
  return {
    context: await createScriptContext(app, args),
    records,
    close: () => app.close(),
  }
}
