/** `filigree run`: runs a script with the application's providers, without listening. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { defineCommand, moduleOption, UsageError, type Terminal } from '../command.js'
import { builtFileOf, loadApplication } from '../load-application.js'
import { openScript } from '../open-script.js'
import { isSource } from '../project-files.js'
import type { ScriptContext } from '../../bootstrap/script-context.js'

export const runScriptCommand = defineCommand({
  group: 'Data',
  usage: 'filigree run <file>',
  summary: 'runs a script with the application, without listening',
  description: `Starts the application with its database and providers, but without a port and without running jobs. Then it calls the
function that the file exports as default with { records, get, database, sql, app, args }, waits for it and closes the application.
Options of the script follow "--". The exit code is 1 if the function throws.`,
  options: { module: moduleOption },
  examples: ['filigree run src/seed.ts', 'filigree run src/import.ts -- --file prices.csv'],
  maxPositionals: Infinity,
  run: async ({ values, positionals: [file, ...args] }, terminal) => {
    if (file === undefined) throw new UsageError('the file is missing. Write run src/seed.ts.')
    const path = findScript(file, terminal)
    const application = await loadApplication(values.module, terminal)
    const script = await loadScript(path, file, terminal)
    const { context, close } = await openScript(application, terminal, args)
    try {
      await script(context)
    } finally {
      await close()
    }
    // A script may report a failure without throwing.
    return (process.exitCode ?? 0) === 0
  },
})

/** @throws {UsageError} the file does not exist */
function findScript(file: string, { cwd }: Terminal): string {
  const source = resolve(cwd, file)
  const path = builtFileOf(source) ?? source
  if (existsSync(path)) return path
  throw new UsageError(`the file ${file} does not exist.`)
}

type Script = (context: ScriptContext) => unknown

/** @throws {UsageError} the file exports no function as default */
async function loadScript(path: string, file: string, { loadSources }: Terminal): Promise<Script> {
  if (isSource(path)) await loadSources?.(path)
  const exported = (await import(pathToFileURL(path).href)) as Readonly<Record<string, unknown>>
  if (typeof exported.default === 'function') return exported.default as Script
  throw new UsageError(
    `${file} exports no function as default. Write export default async ({ records }) => { … }.`,
  )
}
