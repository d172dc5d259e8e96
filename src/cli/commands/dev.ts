/** `filigree dev`: runs an application, restarts it after changes, and prints what happens. */

import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  defineCommand,
  flag,
  moduleFileOf,
  moduleOption,
  type Terminal,
  UsageError,
} from '../command.js'
import { countOf, paintReport, toTable } from '../output.js'
import { createPaint, type Paint } from '../../core/paint.js'
import { toLogText, type LogText } from '../../core/log-text.js'
import type { DevEvent, TypeCheckError } from '../dev/child-process.js'
import { Redactor } from '../../serving/redaction/redactor.js'
import { StatusFile } from '../dev/status-file.js'
import { createSecret } from '../dev/page-access.js'
import { Supervisor } from '../dev/supervisor.js'
import { installCommand } from '../../errors/missing-package.js'
import { withoutPackageFrames } from '../describe-error.js'
import { findLoader } from '../load-application.js'
import { pathInPackage, isSource } from '../project-files.js'

/** Maximum number of lines of an error report. */
const maxReportLines = 60
const maxTypeErrors = 6

type Show = (event: DevEvent) => void

/** @returns a function that prints events */
export function createReport(
  { out, hasColours = false }: Pick<Terminal, 'out' | 'hasColours'>,
  /** If set, events are printed as lines of JSON without secrets. */
  redactor?: Redactor,
): Show {
  if (redactor !== undefined)
    return (event) => void out(`${JSON.stringify(withoutSecrets(event, redactor))}\n`)
  const paint = createPaint(hasColours)
  return (event) => {
    const text = toText(event, paint)
    if (text !== '') void out(`${text}\n`)
  }
}

/** Redacts the events that are not redacted by the application's process. */
function withoutSecrets(event: DevEvent, redactor: Redactor): DevEvent {
  switch (event.event) {
    case 'failed':
      return { ...event, report: redactor.text(event.report) }
    case 'output':
      return { ...event, text: redactor.text(event.text) }
    case 'log':
      return { ...event, line: redactor.value(event.line) as LogText }
    default:
      return event
  }
}

function toText(event: DevEvent, paint: Paint): string {
  switch (event.event) {
    case 'starting':
      return ''
    case 'waiting':
      return paint(
        'yellow',
        `${event.file} is still being started after ${event.seconds} s. A start waits for the top-level await of its files, for the database and for onStart of providers.`,
      )
    case 'ready':
      return toAddresses(event, paint)
    case 'failed':
      return `${paintReport(shorten(event.report), paint)}\n${paint('dim', 'Waiting for a change.')}`
    case 'page':
      return `${paint('dim', 'In a browser:')} ${paint('cyan', event.page)}`
    case 'ended':
      return paint('dim', `The program ended (${event.code ?? 'killed'}). Waiting for a change.`)
    case 'changed':
      return paint('dim', `${event.files.join(', ')} changed`)
    case 'types':
      return toTypes(event.errors, paint)
    case 'port':
      return paint(
        'yellow',
        `Port ${event.port} is used by ${event.by}. The application starts when the port is free. Or set PORT=${event.port + 1}.`,
      )
    case 'output':
      return event.text
    case 'log':
      // The event `ready` has the address.
      return /^listening at /.test(event.line.msg ?? '')
        ? ''
        : toLogText(event.line, { paint, shorten: shortenStack })
    case 'request':
    case 'job':
      return ''
  }
}

/** The addresses of the application, of its pages for people, and of the development page. */
function toAddresses(
  { url, page, pages, routes, took }: Extract<DevEvent, { event: 'ready' }>,
  paint: Paint,
): string {
  const summary = `${paint('green', 'ready')} ${paint('dim', `in ${took} ms, ${routes} routes`)}`
  if (url === undefined || page === undefined) return summary
  const rows = [
    { title: 'Application', url },
    ...pages,
    { title: 'Development page', url: page },
  ].map((one) => [`  ${paint('dim', one.title)}`, paint('cyan', one.url)])
  return `${summary}\n${toTable(rows).trimEnd()}`
}

function toTypes(errors: readonly TypeCheckError[], paint: Paint): string {
  if (errors.length === 0) return paint('dim', 'types: no errors')
  const lines = errors
    .slice(0, maxTypeErrors)
    .map(({ file, line, column, message }) => `  ${file}:${line}:${column} ${message}`)
  const more = errors.length > maxTypeErrors ? [`  and ${errors.length - maxTypeErrors} more`] : []
  return [paint('yellow', `types: ${countOf(errors.length, 'error')}`), ...lines, ...more].join(
    '\n',
  )
}

/** The first lines of a stack, without Node.js and packages. */
function shortenStack(stack: string): string {
  return withoutPackageFrames(stack).split('\n').slice(0, 6).join('\n')
}

function shorten(report: string): string {
  const lines = report.split('\n')
  if (lines.length <= maxReportLines) return report
  return [
    ...lines.slice(0, maxReportLines),
    `… and ${lines.length - maxReportLines} more lines`,
  ].join('\n')
}

export const devCommand = defineCommand({
  group: 'Develop',
  usage: 'filigree dev [file]',
  summary: 'runs the application, and restarts it when a source changes',
  description: `Starts an application and restarts it when a source changes. The file is a program that calls bootstrap, or exports the
module. Types are checked in parallel. After a failed start the command waits for the next change. It reads .env.
The development page, /__filigree, shows requests with their SQL, routes, records, jobs and the log.`,
  options: {
    module: moduleOption,
    json: flag(
      'prints events as JSON lines: { event: "ready" | "failed" | "types" | "request" | "log" … }',
    ),
  },
  examples: ['filigree dev', 'filigree dev src/app-module.ts', 'PORT=4000 filigree dev --json'],
  run: async (args, terminal) => {
    const { values } = args
    const { cwd } = terminal
    const named = moduleFileOf(args) ?? (await pathInPackage(cwd))
    if (named === undefined) {
      throw new UsageError(
        'the program is unknown. Name its file, or write it into package.json: "filigree": { "module": "src/main.ts" }.',
      )
    }
    const file = resolve(cwd, named)
    if (!existsSync(file)) throw new UsageError(`the file ${named} does not exist.`)
    const redactor = new Redactor(process.env)
    const secret = createSecret()
    const statusFile = new StatusFile(cwd, redactor, secret)
    const report = createReport(terminal, values.json ? redactor : undefined)
    const supervisor = new Supervisor({
      cwd,
      file,
      named,
      reportsEvents: values.json,
      redactor,
      secret,
      loader: isSource(file) ? loaderOf(file, named) : undefined,
      show: (event) => {
        report(event)
        statusFile.update(event)
      },
    })
    await new Promise<void>((end) => {
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
        process.once(signal, () => {
          end()
        })
    })
    await supervisor.close()
    statusFile.remove()
    return true
  },
})

function loaderOf(file: string, named: string): string {
  const loader = findLoader(file)
  if (loader !== undefined) return pathToFileURL(loader).href
  const install = installCommand('--save-dev tsx')
  throw new UsageError(`${named} is TypeScript, and tsx is not installed. Run ${install}.`)
}
