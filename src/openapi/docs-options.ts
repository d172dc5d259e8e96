/** The options of the documentation: `bootstrap(AppModule, { docs: { … } | false })`. */
import type { ServerObject } from 'openapi3-ts/oas31'
import { openAccess, tokenAccess, type AccessRule } from '../auth/access.js'
import type { Problem } from '../errors/declaration-error.js'
import type { Problems } from '../errors/problems.js'
import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import type { DocumentOptions } from './document.js'

const serverRemedy = "Give a list of addresses such as '/' or 'https://api.example.org'."

const serverOptions = declareOptions({
  url: option.of<string>(isServerUrl, serverRemedy).required('/'),
  description: option.text('Give a text.'),
})

/** The option `docs` of `bootstrap`. */
export const docsOptions = declareOptions({
  /** The address of the page; the documents are below it. Default `/swagger`. */
  path: option
    .of<string>(isDocsPath, "Give a path of letters and digits, such as '/swagger'.")
    .shown()
    .default('/swagger'),
  /** The name of the application. Default: the name in `package.json`, otherwise `API`. */
  title: option.text('Give a text.').shown(),
  /** The application's own version. Default: the version in `package.json`, otherwise `1.0.0`. */
  version: option.text('Give a text.').shown(),
  /** A description of the application, in Markdown. */
  description: option.text('Give a text.').shown(),
  /**
   * True, a role or several: the document then needs a token, which the page asks for. Default false; with
   * `auth: { closed: true }` document and page need one, unless it is false here.
   */
  secured: option
    .of<boolean | string | readonly string[]>(
      (value) => typeof value === 'boolean' || isRoles(value),
      'Give true, a role or a list of roles.',
    )
    .shown(),
  /** Addresses of the application. Default: the address of the page. */
  servers: option.any<readonly (string | OptionsOf<typeof serverOptions>)[]>(),
  /** Descriptions of tags by name; these tags come first. */
  tags: option.any<Readonly<Record<string, string>>>(),
  /**
   * The version of OpenAPI: `3.2` describes the items of event streams (`itemSchema`), but fewer tools support it.
   * Default `3.1`.
   */
  openapi: option.oneOf('3.1', '3.2').shown().default('3.1'),
  /**
   * How the filters of lists are documented: `exact` has one parameter for each operator (`price.gte`), `compact` one for
   * each field, which names its operators. Default `exact`.
   */
  filters: option.oneOf('exact', 'compact').shown().default('exact'),
})

export interface DocsOptions extends OptionsOf<typeof docsOptions> {}

export interface ResolvedDocs extends DocumentOptions {
  readonly path: string
  /** Who may read the document. */
  readonly access: AccessRule
  /** Who may read the page and its files. */
  readonly pageAccess: AccessRule
}

interface DocsDefaults {
  readonly closed?: boolean
  readonly server?: string | undefined
  readonly title?: string | undefined
  readonly version?: string | undefined
}

/**
 * @param options false turns the documentation off; true and undefined mean the defaults
 * @param problems receives invalid servers and tags
 * @param defaults `closed`: reads need a token, unless something else is said. `server`: the path of the public address.
 * `title`, `version`: the name and the version of the application
 * @returns `undefined` if it is off
 */
export function resolveDocsOptions(
  options: DocsOptions | boolean | undefined,
  problems: Problems,
  { closed = false, server = '/', title = 'API', version = '1.0.0' }: DocsDefaults = {},
): ResolvedDocs | undefined {
  if (options === false) return undefined
  const { servers, tags, secured, ...values } = docsOptions.read(options)
  return Object.freeze({
    ...values,
    title: values.title ?? title,
    version: values.version ?? version,
    servers: readServers(servers ?? [server], problems),
    tags: readTags(tags, problems),
    access: toAccess(secured ?? closed),
    pageAccess: closed && secured === undefined ? tokenAccess : openAccess,
  })
}

function isDocsPath(path: unknown): boolean {
  const isWellFormed = typeof path === 'string' && /^\/[\w.~-]+(?:\/[\w.~-]+)*$/.test(path)
  return isWellFormed && !path.split('/').includes('..')
}

function readTags(tags: DocsOptions['tags'], problems: Problems): DocsOptions['tags'] {
  for (const [name, description] of Object.entries<unknown>(tags ?? {}))
    if (typeof description !== 'string' || description === '')
      problems.add(invalid(`tags.${name}`, description, 'Give a text.'))
  return tags
}

/** @param servers `DocsOptions['servers']`, or any value from a program without types */
function readServers(servers: unknown, problems: Problems): ServerObject[] {
  const refuse = (value: unknown): void => {
    problems.add(invalid('servers', value, serverRemedy))
  }
  const read: ServerObject[] = []
  if (!Array.isArray(servers)) refuse(servers)
  else {
    for (const server of servers as unknown[]) {
      if (isServerUrl(server)) read.push({ url: server })
      else if (isServer(server)) {
        problems.addAll(serverOptions.findProblems(server, 'bootstrap docs.servers'))
        read.push({ ...server })
      } else refuse(server)
    }
  }
  return read.length === 0 ? [{ url: '/' }] : read
}

function isServer(value: unknown): value is ServerObject {
  return typeof value === 'object' && value !== null && 'url' in value && isServerUrl(value.url)
}

function isServerUrl(url: unknown): url is string {
  if (typeof url !== 'string') return false
  return url.startsWith('/') || (/^https?:/.test(url) && URL.canParse(url))
}

function toAccess(secured: NonNullable<DocsOptions['secured']>): AccessRule {
  if (typeof secured === 'boolean') return secured ? tokenAccess : openAccess
  return Object.freeze({ ...tokenAccess, roles: Object.freeze([secured].flat()) })
}

function isRoles(value: unknown): boolean {
  const roles: readonly unknown[] = Array.isArray(value) ? value : [value]
  return roles.length > 0 && roles.every((role) => typeof role === 'string' && role.trim() !== '')
}

function invalid(name: string, value: unknown, remedy: string): Problem {
  const message = `bootstrap docs: ${name} is ${JSON.stringify(value)}.`
  return { code: 'INVALID_OPTION', message, remedy }
}
