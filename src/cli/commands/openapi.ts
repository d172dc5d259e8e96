/** `filigree openapi`: writes the OpenAPI document of an application, or compares it with an older document. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { describeApplication } from '../../bootstrap/plan-application.js'
import { findBreakingChanges } from '../../openapi/breaking-changes.js'
import { type OpenApiDocument, toYaml } from '../../openapi/document.js'
import { loadApplication } from '../load-application.js'
import { type Command, exitCodes, UsageError, type Terminal, readArguments } from '../command.js'

const usage = `filigree openapi [module.js] [--out file] [--against old.json]
  Writes the OpenAPI document of an application, which is not started.
  module.js         the built file that exports AppModule (or a default, or one class with @Module),
                    and the options of bootstrap as \`options\` if it likes; default: "filigree": { "module": … } in package.json
  --out file        where to: .json, .yaml or .yml; default: standard output
  --against old     lists what breaks clients of an older document (JSON), and exits with 1 if anything
                    does; then nothing is written`

export const openapiCommand: Command = {
  usage,
  summary: 'the OpenAPI document, and what breaks its clients',
  run,
}

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = readArguments(args, { out: 'text', against: 'text' })
  const { out, against } = values
  if (out !== undefined && !/\.(?:json|ya?ml)$/i.test(out))
    throw new UsageError(`--out ${basename(out)}: end the name with .json, .yaml or .yml.`)
  // Read it first, because the new document can replace it.
  const old = against === undefined ? undefined : await readDocument(against, terminal)
  const { module, options } = await loadApplication(positionals[0], terminal)
  const document = await describeApplication(module, { ...options, logger: false })
  if (old !== undefined && (await reportChanges(old, document, terminal))) return exitCodes.failed
  if (out !== undefined) await writeDocument(document, resolve(terminal.cwd, out))
  else if (old === undefined) await terminal.out(toText(document))
  return exitCodes.done
}

async function readDocument(path: string, { cwd }: Terminal): Promise<OpenApiDocument> {
  try {
    const document: unknown = JSON.parse(await readFile(resolve(cwd, path), 'utf8'))
    if (typeof document === 'object' && document !== null && 'openapi' in document) {
      return document as OpenApiDocument
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new UsageError(`${path} cannot be read: ${reason}`)
  }
  throw new UsageError(`${path} is no OpenAPI document.`)
}

/** @returns true if a change breaks clients */
async function reportChanges(
  old: OpenApiDocument,
  document: OpenApiDocument,
  terminal: Terminal,
): Promise<boolean> {
  const changes = findBreakingChanges(old, document)
  if (changes.length === 0) {
    await terminal.err('No breaking changes.\n')
    return false
  }
  const count = changes.length === 1 ? '1 breaking change' : `${changes.length} breaking changes`
  const lines = changes.map(({ code, message }) => `  ${code}  ${message}`)
  await terminal.out(`${count}:\n${lines.join('\n')}\n`)
  return true
}

async function writeDocument(document: OpenApiDocument, path: string): Promise<void> {
  const text = /\.ya?ml$/i.test(path) ? await toYaml(document) : toText(document)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
}

function toText(document: OpenApiDocument): string {
  return `${JSON.stringify(document, null, 2)}\n`
}
