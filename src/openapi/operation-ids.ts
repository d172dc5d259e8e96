/** Makes names of operations that never collide and do not change when other routes are added. */
import type { DocumentedRoute } from './documented-route.js'

/**
 * `ItemController.show` → `itemShow`. If routes would share a name, such as two verbs of one method, each gets its
 * verb and path behind it: `itemSave_post_items`, `itemSave_put_items_id`.
 */
export function operationIds(
  routes: readonly DocumentedRoute[],
): ReadonlyMap<DocumentedRoute, string> {
  const short = new Map(routes.map((route) => [route, shortId(route)]))
  const uses = count(short.values())
  const ids = new Map<DocumentedRoute, string>()
  const taken = new Set<string>()
  for (const [route, id] of short) {
    const wanted = (uses.get(id) ?? 0) > 1 ? `${id}_${longTail(route)}` : id
    const free = firstFree(wanted, taken)
    taken.add(free)
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
  const words = route.pattern.segments.map((part) =>
    toWord(part.kind === 'static' ? part.text : part.name),
  )
  return [route.method.toLowerCase(), ...words].join('_')
}

function toWord(text: string): string {
  return text.replace(/\W/g, '_')
}

function count(ids: Iterable<string>): Map<string, number> {
  const uses = new Map<string, number>()
  for (const id of ids) uses.set(id, (uses.get(id) ?? 0) + 1)
  return uses
}

function firstFree(wanted: string, taken: ReadonlySet<string>): string {
  let id = wanted
  for (let number = 2; taken.has(id); number++) id = `${wanted}_${number}`
  return id
}
