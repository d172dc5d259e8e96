/** `filigree dev`: runs an application while it is written. Source: decisions, "Third storey: the first hour". */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Command } from './command.js'
import { NoticeBoard } from './dev/notice.js'
import { createSecret } from './dev/page-access.js'
import { Redactor } from './dev/redact.js'
import { createReport } from './dev/report.js'
import { Supervisor } from './dev/supervise.js'
import { installCommand } from '../core/install-command.js'
import { findLoader, isSource } from './load-sources.js'
import { pathInPackage } from './package-settings.js'
import { readArguments } from './read-arguments.js'
import { exitCodes, UsageError, type Terminal } from './terminal.js'

const usage = `filigree dev [main.ts] [--json]
  Starts an application, and starts it again at each change of its sources. Types are checked beside it; what they
  say holds nothing up. A start that failed waits for the next change. Reads .env.
  It prints the address of the development page, /__filigree?secret=…, which shows requests with their SQL, routes, records and the log
  main.ts           the program; default: "filigree": { "module": "src/main.ts" } in package.json
  --json            what happens as JSON lines: { event: "ready" | "failed" | "types" | "request" | "log" … }`

export const devCommand: Command = {
  usage,
  summary: 'runs it while it is written, and shows what happens',
  run,
}

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values, words } = readArguments(args, { json: 'switch' })
  const { cwd } = terminal
  const named = words[0] ?? (await pathInPackage(cwd))
  if (named === undefined) {
    throw new UsageError(
      'no program is given. Name it, or write it into package.json: "filigree": { "module": "src/main.ts" }.',
    )
  }
  const file = resolve(cwd, named)
  if (!existsSync(file)) throw new UsageError(`the file ${named} does not exist.`)
  const redactor = new Redactor(process.env)
  const secret = createSecret()
  const board = new NoticeBoard(cwd, redactor, secret)
  const report = createReport(terminal, values.json ? redactor : undefined)
  const supervisor = new Supervisor({
    ...{ cwd, file, named, tells: values.json, redactor, secret },
    loader: isSource(file) ? loaderOf(file, named) : undefined,
    show: (event) => {
      report(event)
      board.note(event)
    },
  })
  await new Promise<void>((end) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.once(signal, () => {
        end()
      })
  })
  await supervisor.close()
  board.takeDown()
  return exitCodes.done
}

function loaderOf(file: string, named: string): string {
  const loader = findLoader(file)
  if (loader !== undefined) return pathToFileURL(loader).href
  const install = installCommand('--save-dev tsx')
  throw new UsageError(`${named} is TypeScript, and tsx is not installed. Run ${install}.`)
}
