/**
 * Every route of an application by method and path. Takes patterns with a value each, gives the value for a request;
 * filled by bootstrap, read by the request path, the documentation and the lint.
 * Source: specification, Route declaration rules; decisions, Routing.
 */
import { HttpError } from '../errors/http-error.js'
import type { Pattern } from './pattern.js'
import { SegmentTree } from './segment-tree.js'

/** The methods a route can be declared for. HEAD is answered by GET, OPTIONS by the table itself. */
export const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type Method = (typeof methods)[number]

export class RouteTable<T extends object> {
  readonly #trees = new Map<string, SegmentTree<T>>()

  /** @returns the value that already answers the same requests, which then stays; `undefined` when it was added */
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
   * Static segments win over `int`, then `float`, `uuid`, `slug`, plain parameters, `path`; the order of declaration
   * does not matter. If a choice leads to no route, the next one is tried.
   *
   * @param method upper case; `HEAD` is looked up as `GET`
   * @param path as sent, without the query; split on `/` first, then each segment is percent-decoded once
   * @param values takes the parameters, converted, from left to right
   * @throws {HttpError} 400 `MALFORMED_ENCODING` for a broken escape, invalid UTF-8 or NUL, whether or not a route matches
   */
  match(method: string, path: string, values: (string | number)[]): T | undefined {
    const encoded = path.includes('%')
    const error = encoded ? pathError(path) : undefined
    if (error !== undefined) throw error
    return this.#trees.get(method === 'HEAD' ? 'GET' : method)?.find(path, encoded, values)
  }

  /**
   * Methods that have this path, in the order GET, HEAD, POST, PUT, PATCH, DELETE; empty for an unknown path.
   *
   * @param path well-formed: `pathFault` finds nothing wrong with it
   */
  allowedMethods(path: string): string[] {
    const encoded = path.includes('%')
    return methods.flatMap((method) => {
      if (this.#trees.get(method)?.find(path, encoded, []) === undefined) return []
      return method === 'GET' ? ['GET', 'HEAD'] : [method]
    })
  }
}

/** @returns 400 `MALFORMED_ENCODING` for a broken escape, invalid UTF-8 or NUL, else `undefined` */
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
