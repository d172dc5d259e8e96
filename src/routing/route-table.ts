/**
 * Finds the route of a request by method, path and version. The tables are filled at the start. Source: specification,
 * Route declaration rules; decisions, Routing.
 */

import type { IncomingHttpHeaders } from 'node:http'
import { HttpError } from '../errors/http-error.js'
import { type Pattern, restType, type PathType } from './pattern.js'

/** The methods that a route can be declared for. Routes for GET handle HEAD; the dispatcher handles OPTIONS. */
export const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type RouteMethod = (typeof methods)[number]

/** Values of routes by method and path. */
export class RouteTable<T extends object> {
  readonly #trees = new Map<string, SegmentTree<T>>()

  /** @returns the existing value for the same requests, which is not replaced; `undefined` if the value was added */
  add(method: RouteMethod, pattern: Pattern, value: T): T | undefined {
    let tree = this.#trees.get(method)
    if (tree === undefined) {
      tree = new SegmentTree()
      this.#trees.set(method, tree)
    }
    return tree.add(pattern, value)
  }

  /**
   * Finds the route of a request.
   *
   * Static segments take precedence over `int`, then `float`, `uuid`, `slug`, `key`, plain parameters, `path`. The order of
   * declaration does not matter. If a choice leads to no route, the next one is tried.
   *
   * @param method upper case; `HEAD` is looked up as `GET`
   * @param path as sent, without the query. It is split on `/` first, then each segment is percent-decoded once
   * @param values receives the converted parameters from left to right
   * @throws {HttpError} 400 `MALFORMED_ENCODING` for a malformed escape, invalid UTF-8 or NUL, whether or not a route
   * matches
   */
  match(method: string, path: string, values: (string | number)[]): T | undefined {
    const encoded = path.includes('%')
    const error = encoded ? pathError(path) : undefined
    if (error !== undefined) throw error
    return this.#trees.get(method === 'HEAD' ? 'GET' : method)?.find(path, encoded, values)
  }

  /**
   * Lists the methods of a path, in the order GET, HEAD, POST, PUT, PATCH, DELETE; empty for an unknown path.
   *
   * @param path well-formed: `pathError` returns `undefined` for it
   */
  allowedMethods(path: string): string[] {
    const encoded = path.includes('%')
    return methods.flatMap((method) => {
      if (this.#trees.get(method)?.find(path, encoded, []) === undefined) return []
      return method === 'GET' ? ['GET', 'HEAD'] : [method]
    })
  }
}

/** @returns 400 `MALFORMED_ENCODING` for a malformed escape, invalid UTF-8 or NUL, otherwise `undefined` */
export function pathError(path: string): HttpError | undefined {
  if (!path.includes('%') || isWellFormed(path)) return undefined
  const message = 'The path is not well-formed: broken percent-encoding or a NUL character.'
  return new HttpError(400, message, { code: 'MALFORMED_ENCODING' })
}

function isWellFormed(path: string): boolean {
  try {
    return !decodeURIComponent(path).includes('\0')
  } catch {
    return false
  }
}

/** The part of a request that selects a version. Its headers may be read only then. */
interface VersionedRequest {
  readonly headers: IncomingHttpHeaders
}

/** The interface of both tables for requests. */
export interface RouteLookup<T extends object> {
  match(
    method: string,
    path: string,
    values: (string | number)[],
    request: VersionedRequest,
  ): T | undefined
  /** @param headers of the request. Default: the methods of all versions */
  allowedMethods(path: string, headers?: IncomingHttpHeaders): string[]
}

/** Routes of several versions with the same path. A header selects the version. Source: decisions, Routing. */
export class VersionedTable<T extends object> implements RouteLookup<T> {
  readonly #read: (headers: IncomingHttpHeaders) => string | undefined
  readonly #common = new RouteTable<T>()
  readonly #versions = new Map<string, RouteTable<T>>()

  /** @param read returns the requested version */
  constructor(read: (headers: IncomingHttpHeaders) => string | undefined) {
    this.#read = read
  }

  /** @param version undefined for a route of all versions */
  add(method: RouteMethod, pattern: Pattern, value: T, version?: string): T | undefined {
    if (version === undefined) return this.#common.add(method, pattern, value)
    let table = this.#versions.get(version)
    if (table === undefined) this.#versions.set(version, (table = new RouteTable<T>()))
    return table.add(method, pattern, value)
  }

  match(
    method: string,
    path: string,
    values: (string | number)[],
    request: VersionedRequest,
  ): T | undefined {
    const found = this.#tableFor(request.headers)?.match(method, path, values)
    if (found !== undefined) return found
    values.length = 0
    return this.#common.match(method, path, values)
  }

  allowedMethods(path: string, headers?: IncomingHttpHeaders): string[] {
    const tables = headers === undefined ? [...this.#versions.values()] : [this.#tableFor(headers)]
    const allowed = new Set(
      [...tables, this.#common].flatMap((table) => table?.allowedMethods(path) ?? []),
    )
    const inOrder = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    return inOrder.filter((method) => allowed.has(method))
  }

  #tableFor(headers: IncomingHttpHeaders): RouteTable<T> | undefined {
    const version = this.#read(headers)
    return version === undefined ? undefined : this.#versions.get(version)
  }
}

interface Node<T> {
  readonly statics: Map<string, Node<T>>
  /** Parameters of one segment, the lowest rank first. */
  readonly edges: ParameterEdge<T>[]
  /** The value of the pattern that ends here. */
  leaf: T | undefined
  /** The value of the pattern whose parameter takes the rest of the path. */
  rest: T | undefined
}

interface ParameterEdge<T> {
  readonly type: PathType
  readonly node: Node<T>
}

/**
 * Finds the pattern of a path, segment by segment, and converts parameters meanwhile. A search visits each node at most
 * once, and only nodes that match its segments, so its time does not depend on the number of routes.
 */
export class SegmentTree<T extends object> {
  readonly #root: Node<T> = createNode()
  /** Complete paths without parameters, which take precedence. */
  readonly #staticPaths = new Map<string, T>()

  /**
   * @returns the existing value for the pattern, which is not replaced; `undefined` if the value was added. Names of
   * parameters are ignored: `/x/<a:int>` and `/x/<b:int>` are equal.
   */
  add(pattern: Pattern, value: T): T | undefined {
    let node = this.#root
    for (const segment of pattern.segments) {
      if (segment.kind === 'static') {
        node = staticChild(node, segment.text)
      } else if (segment.type === restType) {
        if (node.rest !== undefined) return node.rest
        node.rest = value
        return undefined
      } else {
        node = edgeFor(node, segment.type).node
      }
    }
    if (node.leaf !== undefined) return node.leaf
    node.leaf = value
    const asSent = pattern.names.length === 0 && !pattern.text.includes('%')
    if (asSent) this.#staticPaths.set(pattern.text, value)
    return undefined
  }

  /**
   * @param path as sent, without the query, with well-formed escapes
   * @param encoded whether the path has escapes
   * @param values receives the converted parameters from left to right; unchanged if nothing matches
   */
  find(path: string, encoded: boolean, values: (string | number)[]): T | undefined {
    const staticMatch = this.#staticPaths.get(path)
    if (staticMatch !== undefined) return staticMatch
    if (path.charCodeAt(0) !== slashCode) return undefined
    if (path.length === 1) return this.#root.leaf
    const end = path.charCodeAt(path.length - 1) === slashCode ? path.length - 1 : path.length
    return findFrom(this.#root, { path, end, encoded }, 1, values)
  }
}

const slashCode = 47

interface Subject {
  readonly path: string
  /** The end without a trailing slash, which is ignored. */
  readonly end: number
  readonly encoded: boolean
}

function findFrom<T>(
  node: Node<T>,
  subject: Subject,
  start: number,
  values: (string | number)[],
): T | undefined {
  const { path, end } = subject
  const slash = path.indexOf('/', start)
  const stop = slash === -1 || slash > end ? end : slash
  if (stop > start) {
    const text = textBetween(subject, start, stop)
    const child = node.statics.get(text)
    if (child !== undefined) {
      const found = stop === end ? child.leaf : findFrom(child, subject, stop + 1, values)
      if (found !== undefined) return found
    }
    for (const edge of node.edges) {
      const { type } = edge
      const value = type.convert(type.isEncoded === true ? path.slice(start, stop) : text)
      if (value === undefined) continue
      values.push(value)
      const found = stop === end ? edge.node.leaf : findFrom(edge.node, subject, stop + 1, values)
      if (found !== undefined) return found
      values.pop()
    }
  }
  if (node.rest !== undefined && start < end) values.push(textBetween(subject, start, end))
  return start < end ? node.rest : undefined
}

function textBetween({ path, encoded }: Subject, start: number, stop: number): string {
  const text = path.slice(start, stop)
  return encoded && text.includes('%') ? decodeURIComponent(text) : text
}

function createNode<T>(): Node<T> {
  return { statics: new Map(), edges: [], leaf: undefined, rest: undefined }
}

function staticChild<T>(node: Node<T>, text: string): Node<T> {
  const existing = node.statics.get(text)
  if (existing !== undefined) return existing
  const child = createNode<T>()
  node.statics.set(text, child)
  return child
}

function edgeFor<T>(node: Node<T>, type: PathType): ParameterEdge<T> {
  const existing = node.edges.find((edge) => edge.type === type)
  if (existing !== undefined) return existing
  const edge = { type, node: createNode<T>() }
  node.edges.push(edge)
  node.edges.sort((a, b) => a.type.rank - b.type.rank)
  return edge
}
