/**
 * Finds the route of a request by method, path and version. The tables are filled at the start. Source: specification,
 * Route declaration rules; decisions, Routing.
 */
import { HttpError } from '../errors/http-error.js'
import type { Pattern } from './pattern.js'
import { SegmentTree } from './segment-tree.js'

/** The methods that a route can be declared for. Routes for GET handle HEAD; the dispatcher handles OPTIONS. */
export const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type Method = (typeof methods)[number]

/** Values of routes by method and path. */
export class RouteTable<T extends object> {
  readonly #trees = new Map<string, SegmentTree<T>>()

  /** @returns the existing value for the same requests, which is not replaced; `undefined` if the value was added */
  add(method: Method, pattern: Pattern, value: T): T | undefined {
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
   * Static segments take precedence over `int`, then `float`, `uuid`, `slug`, plain parameters, `path`. The order of
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
