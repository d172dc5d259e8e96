/** Objects made of dotted names: `category.name` becomes `{ category: { name: … } }`. */

export interface Nested<V> {
  readonly [name: string]: V | Nested<V>
}

/** `['category', 'name']` and a test → `{ category: { name: test } }` */
export function nest<V>(names: readonly string[], value: V): Nested<V> {
  const [first = '', ...rest] = names
  // Names are looked up in the record, so none of them can reach a prototype.
  const inner = rest.length === 0 ? value : nest(rest, value)
  return Object.defineProperty({}, first, { value: inner, enumerable: true })
}
