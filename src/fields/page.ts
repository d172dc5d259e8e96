/** One page of a list as a class, so that it can be declared in `returns` and documented. */
import type { Class } from '../metadata/class-metadata.js'
import { fieldMetadata } from './field.js'

/**
 * A page of items. `Page.of(Item)` is the class to declare in `returns`:
 *
 * ```ts
 * @Get('/', { returns: Page.of(Item) })
 * list(query: PageQuery) { return { items, total: 171_075, limit: 20, offset: 40 } }
 * ```
 */
export class Page<T> {
  declare items: T[]
  /** The number of items on all pages. */
  declare total: number
  declare limit: number
  declare offset: number

  /** Returns the class `ItemPage`; the same one at each call. */
  static of<T extends object>(type: Class<T>): new () => Page<T> {
    const existing = pages.get(type)
    if (existing !== undefined) return existing as new () => Page<T>
    const PageOf = class extends Page<T> {}
    Object.defineProperty(PageOf, 'name', { value: `${type.name}Page` })
    fieldMetadata.write(PageOf, 'items', { kind: type, rules: { list: true } })
    for (const name of ['total', 'limit', 'offset']) {
      fieldMetadata.write(PageOf, name, { kind: 'integer', rules: { min: 0 } })
    }
    pages.set(type, PageOf)
    return PageOf
  }
}

const pages = new WeakMap<Class, new () => Page<unknown>>()
