/** `filigree openapi`: writes the OpenAPI document of an application, or compares it with an older document. */
import { readFile } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { findBreakingChanges } from '../../openapi/breaking-changes.js'
import { type OpenApiDocument, toYaml } from '../../openapi/document.js'
import { loadPlan } from '../load-application.js'
import {
  defineCommand,
  moduleFileOf,
  moduleOption,
  option,
  type Terminal,
  UsageError,
} from '../command.js'
import { countOf, toJson, writeOutput } from '../output.js'

export const openapiCommand = defineCommand({
  group: 'Generate',
  usage: 'filigree openapi [file]',
  summary: 'writes the OpenAPI document, and finds breaking changes',
  description: `Writes the OpenAPI document of an application without starting it. The file calls bootstrap, or exports the module (as
AppModule, as default, or as the only class with @Module) and optionally the options of bootstrap as "options".`,
  options: {
    out: option('<file>', 'writes a .json, .yaml or .yml file. Default: standard output'),
    against: option(
      '<file>',
      'lists changes that break clients of an older document (JSON). With such a change the exit code is 1, and nothing is written',
    ),
    module: moduleOption,
  },
  examples: ['filigree openapi --out openapi.yaml', 'filigree openapi --against released.json'],
  run: async (args, terminal) => {
    const { values } = args
    const { out, against } = values
    if (out !== undefined && !/\.(?:json|ya?ml)$/i.test(out))
      throw new UsageError(`--out ${basename(out)} must end with .json, .yaml or .yml.`)
    // Read it first, because the new document can replace it.
    const old = against === undefined ? undefined : await readDocument(against, terminal)
    const { plan } = await loadPlan(moduleFileOf(args), terminal)
    const document = plan.document()
    if (old !== undefined && (await reportChanges(old, document, terminal))) return false
    if (out !== undefined) await writeOutput(out, await toText(document, out), terminal)
    else if (old === undefined) await terminal.out(toJson(document))
    return true
  },
})

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
  throw new UsageError(`${path} is not an OpenAPI document.`)
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
  const lines = changes.map(({ code, message }) => `  ${code}  ${message}`)
  await terminal.out(`${countOf(changes.length, 'breaking change')}:\n${lines.join('\n')}\n`)
  return true
}

async function toText(document: OpenApiDocument, path: string): Promise<string> {
  return /\.ya?ml$/i.test(path) ? toYaml(document) : toJson(document)
}
