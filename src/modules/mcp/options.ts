/** The options of `mcp()`, checked at the start. */
import { declareOptions, option, type Option, type OptionsOf } from '../../index.js'

export const mcpOptions = declareOptions({
  /** The path of the endpoint. Default `/mcp`. */
  path: option.text("Write { path: '/mcp' }.", /^(?:\/[\w.~-]+)+$/).default('/mcp'),
  /**
   * Host names that requests may use in addition to the public URL, with or without a port: `['desk.internal:8080']`. Default none.
   */
  hosts: option.of<readonly string[]>(
    (value) => isListOf(value, isHost),
    "Write host names: { hosts: ['desk.internal', 'desk.internal:8080'] }.",
  ),
  /** Issuers of OAuth tokens for clients, for the metadata of RFC 9728: `['https://login.example']`. Default none. */
  authorizationServers: option.of<readonly string[]>(
    (value) => isListOf(value, isIssuer),
    "Write https URLs: { authorizationServers: ['https://login.example'] }.",
  ),
  /** The name that clients show. Default `filigree`. */
  name: textOption(),
  /** The version that clients show. Default `1.0.0`. */
  version: textOption(),
  /** For the model: what the application is, and how to use its tools. */
  instructions: textOption(),
  /** The largest message, in bytes or as `'1mb'`. Default: the limit of the application. The route checks it. */
  limit: option.any<number | string>(),
})

export interface McpOptions extends OptionsOf<typeof mcpOptions> {}

function textOption(): Option<string> {
  return option.of((value) => typeof value === 'string', 'Write a string, or omit it.')
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
