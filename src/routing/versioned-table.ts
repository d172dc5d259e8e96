import type { IncomingHttpHeaders } from 'node:http'
import type { Pattern } from './pattern.js'
import { methods, RouteTable, type Method } from './route-table.js'

/** The interface of both tables for requests. */
export interface RouteLookup<T extends object> {
  match(
    method: string,
    path: string,
    values: (string | number)[],
    headers: IncomingHttpHeaders,
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
  add(method: Method, pattern: Pattern, value: T, version?: string): T | undefined {
    if (version === undefined) return this.#common.add(method, pattern, value)
    let table = this.#versions.get(version)
    if (table === undefined) this.#versions.set(version, (table = new RouteTable<T>()))
    return table.add(method, pattern, value)
  }

  match(
    method: string,
    path: string,
    values: (string | number)[],
    headers: IncomingHttpHeaders,
  ): T | undefined {
    const found = this.#tableFor(headers)?.match(method, path, values)
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
