/** The options of `mcp()`, checked at the start. */
import { rejectUnknownOptions, type ModuleOptions } from '../../index.js'

type Problem = NonNullable<ModuleOptions['problems']>[number]

export interface McpOptions {
  /** The path of the endpoint. Default `/mcp`. */
  path?: string
  /**
   * Host names that requests may use in addition to the public URL, with or without a port: `['desk.internal:8080']`. Default none.
   */
  hosts?: readonly string[]
  /** Issuers of OAuth tokens for clients, for the metadata of RFC 9728: `['https://login.example']`. Default none. */
  authorizationServers?: readonly string[]
  /** The name that clients show. Default `filigree`. */
  name?: string
  /** The version that clients show. Default `1.0.0`. */
  version?: string
  /** For the model: what the application is, and how to use its tools. */
  instructions?: string
  /** The largest message, in bytes or as `'1mb'`. Default: the limit of the application. */
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
  const addProblem = (problem: string, remedy: string): void => {
    problems.push({ code: 'INVALID_OPTION', message: `mcp: ${problem}.`, remedy })
  }
  const { path = '/mcp', hosts = [], authorizationServers: servers = [] } = options
  if (typeof path !== 'string' || !/^(?:\/[\w.~-]+)+$/.test(path))
    addProblem('path is not a plain path', "Write { path: '/mcp' }.")
  if (!isListOf(hosts, isHost))
    addProblem(
      'hosts is not a list of host names',
      "Write { hosts: ['desk.internal', 'desk.internal:8080'] }.",
    )
  if (!isListOf(servers, isIssuer))
    addProblem(
      'authorizationServers is not a list of https URLs',
      "Write { authorizationServers: ['https://login.example'] }.",
    )
  for (const name of ['name', 'version', 'instructions'] as const) {
    if (!['string', 'undefined'].includes(typeof options[name]))
      addProblem(`${name} is not a string`, 'Write a string, or omit it.')
  }
  return problems
}

function isListOf(value: unknown, fits: (item: string) => boolean): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string' && fits(item))
}

function isHost(text: string): boolean {
  return URL.canParse(`http://${text}`) && new URL(`http://${text}`).host === text.toLowerCase()
}

/** http is allowed for loopback addresses only. */
function isIssuer(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))
}

/** @param hostname as `URL` writes it: brackets around IPv6 */
export function isLoopback(hostname: string): boolean {
  return /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname)
}
