/** Converts route patterns to the paths of a document, in which paths that differ only in names are the same. */
import type { Pattern } from '../routing/pattern.js'
import type { DocumentedRoute } from './documented-route.js'

export interface PlacedRoute {
  readonly documented: DocumentedRoute
  /** `/items/{id}`, percent-encoded as it is sent. */
  readonly path: string
  /** The names between its braces, left to right. */
  readonly names: readonly string[]
}

/**
 * Gives every route its path. `GET /items/<id:int>` and `DELETE /items/<key>` share `/items/{id}`. OpenAPI does not
 * allow one method to have two such patterns (`/items/<id:int>` and `/items/<slug>`): the later one is written as
 * `/items/{slug}#slug`; clients do not send the fragment.
 */
export function placeRoutes(routes: readonly DocumentedRoute[], basePath = ''): PlacedRoute[] {
  const behind = basePath === '' ? 0 : basePath.split('/').length - 1
  const names = new Map<string, readonly string[]>()
  const taken = new Set<string>()
  return routes.map((documented) => {
    const { method, pattern: whole } = documented.route
    const pattern = behind === 0 ? whole : { ...whole, segments: whole.segments.slice(behind) }
    const form = toPath(
      pattern,
      pattern.names.map(() => ''),
    )
    const shared = names.get(form) ?? plainNames(pattern)
    names.set(form, shared)
    const path = toPath(pattern, shared)
    if (!taken.has(`${method} ${path}`)) {
      taken.add(`${method} ${path}`)
      return { documented, path, names: shared }
    }
    const own = ownPath(pattern, method, taken)
    taken.add(`${method} ${own}`)
    return { documented, path: own, names: plainNames(pattern) }
  })
}

/** Names without `$`, which other tools do not accept. */
function plainNames({ names }: Pattern): string[] {
  return names.map((name, index) => {
    const plain = name.replaceAll('$', '_')
    return plain !== name && names.includes(plain) ? `${plain}_${index}` : plain
  })
}

function ownPath(pattern: Pattern, method: string, taken: ReadonlySet<string>): string {
  const tail = pattern.segments.map((part) =>
    part.kind === 'parameter' ? `${part.name}-${part.type.name}` : '',
  )
  const base = `${toPath(pattern, plainNames(pattern))}#${tail.filter((word) => word !== '').join('-')}`
  let path = base
  for (let number = 2; taken.has(`${method} ${path}`); number++) path = `${base}-${number}`
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
