/** `filigree console`: a prompt with the application's records, providers and SQL. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { start, type REPLServer } from 'node:repl'
import { inspect } from 'node:util'
import type { Readable, Writable } from 'node:stream'
import type { ScriptContext } from '../../bootstrap/script-context.js'
import type { Class } from '../../metadata/class.js'
import { defineCommand, flag, moduleOption, option, UsageError } from '../command.js'
import { loadApplication } from '../load-application.js'
import { openScript, type OpenScript } from '../open-script.js'
import { toJson } from '../output.js'

export const consoleCommand = defineCommand({
  group: 'Data',
  usage: 'filigree console',
  summary: "a prompt with the application's records, providers and SQL",
  description: `Starts the application without a port, and evaluates JavaScript with top-level await. The names are: each record by its class,
records(Ticket), get(Provider), database, sql, and app. The history is stored in .filigree/. Writes are made as the program: no
caller's rights apply.`,
  options: {
    eval: option('<code>', 'evaluates the code, prints its result and ends'),
    module: moduleOption,
    json: flag('--eval: prints the result as JSON'),
  },
  examples: [
    'filigree console',
    `filigree console --eval 'await records(Ticket).count()'`,
    "filigree console --eval 'records(Ticket).list()' --json",
  ],
  maxPositionals: 0,
  run: async ({ values }, terminal) => {
    const isInteractive = terminal.prompt !== undefined
    if (values.eval === undefined && !isInteractive)
      throw new UsageError(
        "the console needs a terminal. Use --eval 'code', or filigree run file.ts.",
      )
    if (values.json && values.eval === undefined) throw new UsageError('--json is only for --eval.')
    const script = await openScript(await loadApplication(values.module, terminal), terminal)
    try {
      const names = namesOf(script)
      if (values.eval !== undefined) {
        const result = await evaluate(values.eval, names)
        const { hasColours = false } = terminal
        if (values.json) await terminal.out(toJson(result ?? null))
        else if (result !== undefined) await terminal.out(`${show(result, hasColours)}\n`)
        return true
      }
      await terminal.out(banner(script))
      await prompt(names, {
        input: process.stdin,
        output: process.stdout,
        history: historyFile(terminal.cwd),
      })
      return true
    } finally {
      await script.close()
    }
  },
})

/** The names that code of the console can use. */
type Names = Readonly<Record<string, unknown>>

/** Records are names by their classes, unless JavaScript has another meaning for the name. */
function namesOf({ context, records }: OpenScript): Names {
  const { app, get, sql } = context
  const byName = new Map(records.map((type) => [type.name, type]))
  const repositoryOf = (type: Class | string): unknown => {
    const found = typeof type === 'string' ? byName.get(type) : type
    if (found !== undefined) return context.records(found)
    throw new Error(
      `There is no record ${String(type)}. Records: ${[...byName.keys()].join(', ')}.`,
    )
  }
  const classes = [...byName].filter(([name]) => !(name in globalThis))
  return {
    ...Object.fromEntries(classes),
    ...{ records: repositoryOf, get, sql, app },
    ...(hasDatabase(context) ? { database: context.database } : {}),
  }
}

function hasDatabase(context: ScriptContext): boolean {
  try {
    return Boolean(context.database)
  } catch {
    return false
  }
}

type Compiled = (...values: unknown[]) => Promise<unknown>
const AsyncFunction = (async () => {
  await Promise.resolve()
}).constructor as new (...parts: string[]) => Compiled

/**
 * @param code an expression, whose value is the result, or statements
 * @throws {UsageError} a mistake in the syntax
 */
function evaluate(code: string, names: Names): Promise<unknown> {
  const compile = (body: string): Compiled => new AsyncFunction(...Object.keys(names), body)
  const expression = code.trim().replace(/;$/, '')
  const compileStatements = (): Compiled => {
    try {
      return compile(code)
    } catch (error) {
      throw new UsageError(`--eval: ${error instanceof Error ? error.message : String(error)}.`)
    }
  }
  let compiled: Compiled
  try {
    compiled = compile(`return (${expression}\n)`)
  } catch {
    compiled = compileStatements()
  }
  return compiled(...Object.values(names))
}

function show(value: unknown, hasColours: boolean): string {
  return typeof value === 'string' ? value : inspect(value, { colors: hasColours, depth: 6 })
}

function banner({ context, records }: OpenScript): string {
  const names = records.map(({ name }) => name).join(', ')
  const production = process.env.NODE_ENV === 'production' ? ' in production' : ''
  const database = hasDatabase(context) ? ` on ${context.database.driverName}${production}` : ''
  const first = records[0]?.name
  const example = first === undefined ? 'get(Provider)' : `await records(${first}).count()`
  return `Records${database}: ${names || 'none'}. Also records, get, sql, database and app.\nTry ${example}. End with .exit or Ctrl+D.\n`
}

/** @returns the path of the history. Git ignores its folder in new projects */
function historyFile(cwd: string): string {
  const folder = join(cwd, '.filigree')
  mkdirSync(folder, { recursive: true })
  return join(folder, 'console-history')
}

interface PromptStreams {
  readonly input: Readable
  readonly output: Writable
  /** The path of a file. Undefined: no history is stored. */
  readonly history?: string
}

/** Reads and evaluates code until the end of the input. */
export async function prompt(
  names: Names,
  { input, output, history }: PromptStreams,
): Promise<void> {
  const server = start({ prompt: 'filigree> ', input, output, breakEvalOnSigint: false })
  Object.assign(server.context, names)
  if (history !== undefined) await setHistory(server, history)
  await new Promise<void>((resolve) => {
    server.on('exit', resolve)
  })
}

function setHistory(server: REPLServer, file: string): Promise<void> {
  return new Promise((resolve) => {
    // A history that cannot be written is no reason to end.
    server.setupHistory(file, () => {
      resolve()
    })
  })
}
