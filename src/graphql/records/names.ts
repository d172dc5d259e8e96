/** The names of generated queries, mutations and fields. Source: decisions, GraphQL. */
import { toPlural } from '../../records/model/generated-names.js'

/** The names of a record's queries. */
export interface QueryNames {
  /** The query for one record: `category`. */
  readonly one: string
  /** The query for a list: `categories`. */
  readonly many: string
  /** The name with a plain `s`, if it differs: `categorys`. */
  readonly simplePlural: string | undefined
}

/**
 * @param typeName the class's name
 *
 * @param options the names in `@Record({ name, plural })`; with an explicit plural there is no `simplePlural`
 */
export function queryNames(
  typeName: string,
  options: { readonly name?: string; readonly plural?: string },
): QueryNames {
  const one = options.name ?? typeName.toLowerCase()
  if (options.plural !== undefined) return { one, many: options.plural, simplePlural: undefined }
  const plural = toPlural(one)
  const many = plural === one ? `${one}List` : plural
  const simplePlural = `${one}s`
  return { one, many, simplePlural: simplePlural === many ? undefined : simplePlural }
}

/** The plural in the names of mutations of many rows: `Product` gives `Products`. */
export function pluralOf(typeName: string): string {
  const plural = toPlural(typeName)
  return plural === typeName ? `${typeName}List` : plural
}

/** `category_id`, `CategoryId` and `categoryId` are all `categoryId`. */
export function toCamelCase(name: string): string {
  const joined = name.replace(/(?<=[^_])_+([A-Za-z0-9])/g, (_, letter: string) =>
    letter.toUpperCase(),
  )
  return /^[A-Z][A-Z0-9]*$/.test(joined)
    ? joined.toLowerCase()
    : joined.charAt(0).toLowerCase() + joined.slice(1)
}

/** Whether it is a valid Name (GraphQL specification, 2.1.9) that is not reserved for introspection. */
export function isGraphqlName(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !name.startsWith('__')
}
