/** The options of the documentation: `bootstrap(AppModule, { docs: { … } | false })`. */
import type { ServerObject } from 'openapi3-ts/oas31'
import { openAccess, tokenAccess, type AccessRule } from '../auth/access.js'
import type { Problem } from '../errors/declaration-error.js'
import type { Problems } from '../errors/problems.js'
import { checkOptionNames } from '../errors/unknown-options.js'
import type { DocumentOptions } from './document.js'
import type { OpenApiVersion } from './graphql-paths.js'

export interface DocsOptions {
  /** The address of the page; the documents are below it. Default `/swagger`. */
  path?: string
  /** The name of the application. Default `API`. */
  title?: string
  /** The application's own version. Default `1.0.0`. */
  version?: string
  /** A description of the application, in Markdown. */
  description?: string
  /**
   * True, a role or several: the document then needs a token, which the page asks for. Default false; with
   * `auth: { closed: true }` document and page need one, unless it is false here.
   */
  secured?: boolean | string | readonly string[]
  /** Addresses of the application. Default: the address of the page. */
  servers?: readonly (string | { readonly url: string; readonly description?: string })[]
  /** Descriptions of tags by name; these tags come first. */
  tags?: Readonly<Record<string, string>>
  /**
   * The version of OpenAPI: `3.2` describes the items of event streams (`itemSchema`), but fewer tools support it.
   * Default `3.1`.
   */
  openapi?: '3.1' | '3.2'
}

export interface ResolvedDocs extends DocumentOptions {
  readonly path: string
  /** Who may read the document. */
  readonly access: AccessRule
  /** Who may read the page and its files. */
  readonly pageAccess: AccessRule
}

const optionNames: Readonly<Record<keyof DocsOptions, true>> = {
  path: true,
  title: true,
  version: true,
  description: true,
  secured: true,
  servers: true,
  tags: true,
  openapi: true,
}

/**
 * @param options false turns the documentation off; true and undefined mean the defaults
 * @param problems receives unknown options and invalid values
 * @param defaults `closed`: reads need a token, unless something else is said. `server`: the path of the public address
 * @returns `undefined` if it is off
 */
export function resolveDocsOptions(
  options: DocsOptions | boolean | undefined,
  problems: Problems,
  { closed = false, server = '/' }: { closed?: boolean; server?: string | undefined } = {},
): ResolvedDocs | undefined {
  if (options === false) return undefined
  const input = options === true || options === undefined ? {} : options
  checkOptionNames('bootstrap docs', input, optionNames, problems)
  return Object.freeze({
    path: readPath(input.path ?? '/swagger', problems),
    title: readText('title', input.title ?? 'API', problems),
    version: readText('version', input.version ?? '1.0.0', problems),
    description: readOptional('description', input.description, problems),
    servers: readServers(input.servers ?? [server], problems),
    tags: readTags(input.tags, problems),
    openapi: readVersion(input.openapi ?? '3.1', problems),
    access: readAccess(input.secured ?? closed, problems),
    pageAccess: closed && input.secured === undefined ? tokenAccess : openAccess,
  })
}

function readPath(path: unknown, problems: Problems): string {
  const wellFormed = typeof path === 'string' && /^\/[\w.~-]+(?:\/[\w.~-]+)*$/.test(path)
  if (wellFormed && !path.split('/').includes('..')) return path
  problems.add(invalid('path', path, "Give a path of letters and digits, such as '/swagger'."))
  return '/swagger'
}

function readVersion(version: unknown, problems: Problems): OpenApiVersion {
  if (version === '3.1' || version === '3.2') return version
  problems.add(invalid('openapi', version, "Write '3.1' or '3.2'."))
  return '3.1'
}

function readText(name: string, value: unknown, problems: Problems): string {
  if (typeof value === 'string' && value !== '') return value
  problems.add(invalid(name, value, 'Give a text.'))
  return name
}

function readOptional(name: string, value: unknown, problems: Problems): string | undefined {
  return value === undefined ? undefined : readText(name, value, problems)
}

function readTags(tags: DocsOptions['tags'], problems: Problems): DocsOptions['tags'] {
  for (const [name, description] of Object.entries(tags ?? {})) {
    readText(`tags.${name}`, description, problems)
  }
  return tags
}

/** @param servers `DocsOptions['servers']`, or any value from a program without types */
function readServers(servers: unknown, problems: Problems): ServerObject[] {
  const refuse = (value: unknown): void => {
    const remedy = "Give a list of addresses such as '/' or 'https://api.example.org'."
    problems.add(invalid('servers', value, remedy))
  }
  const read: ServerObject[] = []
  if (!Array.isArray(servers)) refuse(servers)
  else {
    for (const server of servers as unknown[]) {
      if (isServerUrl(server)) read.push({ url: server })
      else if (isServer(server)) {
        checkOptionNames('bootstrap docs servers', server, serverNames, problems)
        read.push({ ...server })
      } else refuse(server)
    }
  }
  return read.length === 0 ? [{ url: '/' }] : read
}

const serverNames = { url: true, description: true } as const

function isServer(value: unknown): value is ServerObject {
  return typeof value === 'object' && value !== null && 'url' in value && isServerUrl(value.url)
}

function isServerUrl(url: unknown): url is string {
  if (typeof url !== 'string') return false
  return url.startsWith('/') || (/^https?:/.test(url) && URL.canParse(url))
}

function readAccess(secured: NonNullable<DocsOptions['secured']>, problems: Problems): AccessRule {
  if (secured === false) return openAccess
  if (secured === true) return tokenAccess
  const roles: unknown = typeof secured === 'string' ? [secured] : secured
  if (Array.isArray(roles) && roles.length > 0 && roles.every(isRole)) {
    return Object.freeze({ ...tokenAccess, roles: Object.freeze([...(roles as string[])]) })
  }
  problems.add(invalid('secured', secured, 'Give true, a role or a list of roles.'))
  return tokenAccess
}

function isRole(role: unknown): boolean {
  return typeof role === 'string' && role.trim() !== ''
}

function invalid(name: string, value: unknown, remedy: string): Problem {
  const message = `bootstrap: docs.${name} is ${JSON.stringify(value)}.`
  return { code: 'INVALID_OPTION', message, remedy }
}
