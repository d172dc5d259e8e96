/** Attributes of spans. Source: OpenTelemetry, Semantic Conventions for HTTP spans and for database spans. */
import type { HttpRequest, RequestEvent, StatementEvent } from '../../index.js'

type Attributes = Record<string, string | number>

const methods = new Set([
  ...['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH'],
])

/** The method in a span's name: unusual ones become `HTTP`. */
export function toMethod({ method }: HttpRequest): string {
  return methods.has(method) ? method : 'HTTP'
}

/** Without the query, which may contain secrets. */
export function startAttributes(request: HttpRequest): Attributes {
  const { method, headers, incoming } = request
  const isKnown = methods.has(method)
  const attributes: Attributes = {
    'http.request.method': isKnown ? method : '_OTHER',
    'url.path': request.path,
    'url.scheme': request.secure ? 'https' : 'http',
    'client.address': request.ip,
    'network.protocol.version': incoming.httpVersion,
  }
  if (!isKnown) attributes['http.request.method_original'] = method
  if (headers['user-agent'] !== undefined) attributes['user_agent.original'] = headers['user-agent']
  const [, host, port] = /^(.*?)(?::(\d{1,5}))?$/.exec(headers.host ?? '') ?? []
  if (host !== undefined && host !== '') attributes['server.address'] = host
  if (port !== undefined) attributes['server.port'] = Number(port)
  return attributes
}

export function endAttributes({ request, status, bytes, aborted }: RequestEvent): Attributes {
  const attributes: Attributes = { 'http.response.body.size': bytes }
  // 499 was never sent.
  if (!aborted || status !== 499) attributes['http.response.status_code'] = status
  if (request.route !== undefined) attributes['http.route'] = request.route.path
  if (status >= 500) attributes['error.type'] = String(status)
  return attributes
}

export function statementAttributes({ system, kind, table, sql }: StatementEvent): Attributes {
  return {
    'db.system.name': system,
    'db.operation.name': kind,
    'db.query.text': withoutValues(sql),
    ...(table === undefined ? {} : { 'db.collection.name': table }),
  }
}

const clean = new Map<string, string>()
const mostClean = 1000

/** Values are sent apart from the text; literals that a program has written into the text are removed. */
function withoutValues(sql: string): string {
  let text = clean.get(sql)
  if (text === undefined) {
    text = sql.replace(
      /"(?:[^"]|"")*"|'(?:[^']|'')*'|\$\d+|(?<![\w$.])\d+(?:\.\d+)?(?![\w.])/g,
      (part) => (part.startsWith('"') || part.startsWith('$') ? part : '?'),
    )
    if (clean.size >= mostClean) clean.clear()
    clean.set(sql, text)
  }
  return text
}
