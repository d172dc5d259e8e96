/**
 * The properties of a route that its documentation needs, and the names of its operation: a path that OpenAPI allows, and
 * an operation id that does not change when other routes are added.
 */
import type { OperationObject } from 'openapi3-ts/oas31'
import type { AccessRule } from '../auth/access.js'
import type { DeclaredType } from '../fields/field.js'
import type { Route, RouteInfo } from '../routing/route.js'
import { Operational } from '../extensions/custom-decorator.js'
import type { Pattern } from '../routing/pattern.js'

/** True if the response depends on the caller: a token is read, although none is required. */
export function dependsOnCaller({ access, route, isPersonal }: DocumentedRoute): boolean {
  return access.open && (isPersonal ?? route.argumentNames.includes('user'))
}

/** True for routes that machines call, such as health probes: documents list them last. */
export function isOperational({ info }: DocumentedRoute): boolean {
  return info?.metadata.get(Operational) !== undefined
}

/** Represents every status from 200 to 299 in maps by status. */
export const anySuccess = 0

/** Changes an operation of the document. */
export type DocumentOperation = (operation: OperationObject) => OperationObject

export interface DocumentedRoute {
  readonly route: Route
  readonly access: AccessRule
  /** The route as interceptors see it. */
  readonly info?: RouteInfo
  /** True if a package added it: documents list it after the application's own routes. */
  readonly ofPackage?: boolean
  /** True if the response depends on the caller. */
  readonly isPersonal?: boolean
  /** Whether keys of the body without a field are refused or dropped. */
  readonly unknownKeys: 'refuse' | 'drop'
  readonly classes: {
    readonly body?: DeclaredType | undefined
    readonly query?: DeclaredType | undefined
    /** Classes by status; under `anySuccess` the class of every successful response. */
    readonly returns: ReadonlyMap<number, DeclaredType>
  }
  /** Changes of the operation by custom decorators, in order. */
  readonly documents?: readonly DocumentOperation[]
}

interface RoutePath {
  readonly documented: DocumentedRoute
  /** `/items/{id}`, percent-encoded as it is sent. */
  readonly path: string
  /** The names between its braces, left to right. */
  readonly names: readonly string[]
}

/**
 * Assigns a path to every route. `GET /items/<id:int>` and `DELETE /items/<key>` share `/items/{id}`. OpenAPI does not
 * allow one method to have two such patterns (`/items/<id:int>` and `/items/<slug>`): the later one is written as
 * `/items/{slug}#slug`; clients do not send the fragment.
 */
export function assignPaths(routes: readonly DocumentedRoute[], basePath = ''): RoutePath[] {
  const prefixLength = basePath === '' ? 0 : basePath.split('/').length - 1
  const names = new Map<string, readonly string[]>()
  const usedPaths = new Set<string>()
  return routes.map((documented) => {
    const { method, pattern: fullPattern } = documented.route
    const pattern =
      prefixLength === 0
        ? fullPattern
        : { ...fullPattern, segments: fullPattern.segments.slice(prefixLength) }
    const form = toPath(
      pattern,
      pattern.names.map(() => ''),
    )
    const shared = names.get(form) ?? plainNames(pattern)
    names.set(form, shared)
    const path = toPath(pattern, shared)
    if (!usedPaths.has(`${method} ${path}`)) {
      usedPaths.add(`${method} ${path}`)
      return { documented, path, names: shared }
    }
    const uniquePath = createUniquePath(pattern, method, usedPaths)
    usedPaths.add(`${method} ${uniquePath}`)
    return { documented, path: uniquePath, names: plainNames(pattern) }
  })
}

/** Names without `$`, which other tools do not accept. */
function plainNames({ names }: Pattern): string[] {
  return names.map((name, index) => {
    const plain = name.replaceAll('$', '_')
    return plain !== name && names.includes(plain) ? `${plain}_${index}` : plain
  })
}

function createUniquePath(
  pattern: Pattern,
  method: string,
  usedPaths: ReadonlySet<string>,
): string {
  const tail = pattern.segments.map((part) =>
    part.kind === 'parameter' ? `${part.name}-${part.type.name}` : '',
  )
  const base = `${toPath(pattern, plainNames(pattern))}#${tail.filter((word) => word !== '').join('-')}`
  let path = base
  for (let number = 2; usedPaths.has(`${method} ${path}`); number++) path = `${base}-${number}`
  return path
}

function toPath({ segments }: Pattern, names: readonly string[]): string {
  let index = 0
  const parts = segments.map((part) =>
    part.kind === 'static' ? encodeSegment(part.text) : `{${names[index++] ?? part.name}}`,
  )
  return `/${parts.join('/')}`
}

/** Patterns are written decoded. A lone surrogate cannot be sent and becomes the replacement character. */
function encodeSegment(text: string): string {
  return encodeURI(text.replace(/[\ud800-\udfff]/gu, '\ufffd'))
}

/**
 * `ItemController.show` → `itemShow`. If routes would share a name, such as two methods of one handler, each gets its
 * method and path appended: `itemSave_post_items`, `itemSave_put_items_id`.
 */
export function operationIds(
  routes: readonly DocumentedRoute[],
): ReadonlyMap<DocumentedRoute, string> {
  const short = new Map(routes.map((route) => [route, shortId(route)]))
  const uses = count(short.values())
  const ids = new Map<DocumentedRoute, string>()
  const usedIds = new Set<string>()
  for (const [route, id] of short) {
    const preferredId = (uses.get(id) ?? 0) > 1 ? `${id}_${longTail(route)}` : id
    const free = firstFree(preferredId, usedIds)
    usedIds.add(free)
    ids.set(route, free)
  }
  return ids
}

/** `ItemController` → `Item`, which is also the tag of its routes. */
export function controllerLabel(name: string): string {
  const label = name.replace(/Controller$/, '')
  return label === '' ? name : label
}

function shortId({ route }: DocumentedRoute): string {
  const label = toWord(controllerLabel(route.controller.name))
  const member = toWord(route.member)
  return `${label.charAt(0).toLowerCase()}${label.slice(1)}${member.charAt(0).toUpperCase()}${member.slice(1)}`
}

function longTail({ route }: DocumentedRoute): string {
  const segmentNames = route.pattern.segments.map((part) =>
    toWord(part.kind === 'static' ? part.text : part.name),
  )
  return [route.method.toLowerCase(), ...segmentNames].join('_')
}

function toWord(text: string): string {
  return text.replace(/\W/g, '_')
}

function count(ids: Iterable<string>): Map<string, number> {
  const uses = new Map<string, number>()
  for (const id of ids) uses.set(id, (uses.get(id) ?? 0) + 1)
  return uses
}

function firstFree(preferredId: string, usedIds: ReadonlySet<string>): string {
  let id = preferredId
  for (let number = 2; usedIds.has(id); number++) id = `${preferredId}_${number}`
  return id
}
