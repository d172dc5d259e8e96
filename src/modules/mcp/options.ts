/** What `mcp` takes, checked at the start. */
import { rejectUnknownOptions, type ModuleOptions } from '../../index.js'

type Problem = NonNullable<ModuleOptions['problems']>[number]

export interface McpOptions {
  /** Where it is served. Default `/mcp`. */
  path?: string
  /**
   * Names by which it may be asked for beside the public address, with a port or without: `['desk.internal:8080']`. Default none.
   */
  hosts?: readonly string[]
  /** Issuers of tokens that clients may get by OAuth, `['https://login.example']`: told in the metadata of RFC 9728. Default none. */
  authorizationServers?: readonly string[]
  /** How it is called in clients. Default: the title of the documentation's package, `filigree`. */
  name?: string
  /** Its version. Default `1.0.0`. */
  version?: string
  /** For the model: what this application is, and how to use its tools. */
  instructions?: string
  /** The largest message, in bytes or as `'1mb'`. Default: the application's. */
  limit?: number | string
}

const names: Readonly<Record<keyof McpOptions, true>> = {
  authorizationServers: true,
  hosts: true,
  instructions: true,
  limit: true,
  name: true,
  path: true,
  version: true,
}

export function findProblems(input: McpOptions): Problem[] {
  const problems = [...rejectUnknownOptions(input, Object.keys(names), 'mcp')]
  const options = input as Readonly<globalThis.Record<keyof McpOptions, unknown>>
  const addProblem = (what: string, remedy: string): void => {
    problems.push({ code: 'INVALID_OPTION', message: `mcp: ${what}.`, remedy })
  }
  const { path = '/mcp', hosts = [], authorizationServers: servers = [] } = options
  if (typeof path !== 'string' || !/^(?:\/[\w.~-]+)+$/.test(path))
    addProblem('path is no plain path', "Write { path: '/mcp' }.")
  if (!isListOf(hosts, isHost))
    addProblem(
      'hosts is no list of names',
      "Write { hosts: ['desk.internal', 'desk.internal:8080'] }.",
    )
  if (!isListOf(servers, isIssuer))
    addProblem(
      'authorizationServers is no list of https addresses',
      "Write { authorizationServers: ['https://login.example'] }.",
    )
  for (const name of ['name', 'version', 'instructions'] as const) {
    if (!['string', 'undefined'].includes(typeof options[name]))
      addProblem(`${name} is no text`, 'Write a text, or leave it out.')
  }
  return problems
}

function isListOf(value: unknown, fits: (item: string) => boolean): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string' && fits(item))
}

function isHost(text: string): boolean {
  return URL.canParse(`http://${text}`) && new URL(`http://${text}`).host === text.toLowerCase()
}

/** http on loopback alone. */
function isIssuer(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))
}

/** @param hostname as `URL` writes it: brackets around IPv6 */
export function isLoopback(hostname: string): boolean {
  return /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname)
}
