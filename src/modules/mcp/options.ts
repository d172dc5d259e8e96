/** The options of `mcp()`, checked at the start. */
import { findOptionProblems, type OptionRule, type Problem } from '../../index.js'

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

export function findProblems(options: McpOptions): Problem[] {
  const text: OptionRule = [(value) => typeof value === 'string', 'Write a string, or omit it.']
  return findOptionProblems('mcp', options, {
    path: [
      (value) => typeof value === 'string' && /^(?:\/[\w.~-]+)+$/.test(value),
      "Write { path: '/mcp' }.",
    ],
    hosts: [
      (value) => isListOf(value, isHost),
      "Write host names: { hosts: ['desk.internal', 'desk.internal:8080'] }.",
    ],
    authorizationServers: [
      (value) => isListOf(value, isIssuer),
      "Write https URLs: { authorizationServers: ['https://login.example'] }.",
    ],
    name: text,
    version: text,
    instructions: text,
    // The route checks it.
    limit: [() => true, ''],
  })
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
