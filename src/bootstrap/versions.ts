/** `bootstrap(AppModule, { versions })`: how a request selects a version of the API. */
import type { IncomingHttpHeaders } from 'node:http'
import { declareOptions, type OptionsOf, type ValuesOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import type { DocumentOperation } from '../openapi/documented-route.js'

/** The option `versions` of `bootstrap`. */
export const versionsOptions = declareOptions({
  /**
   * `'path'`: `/v2/items`; `'header'`: `X-API-Version: 2`; `'media'`: `Accept: application/json; version=2`. Default
   * `'path'`.
   */
  by: option.oneOf('path', 'header', 'media').shown().default('path'),
  /** The header's name, for `'header'`. Default `X-API-Version`. */
  header: option
    .text("Write the name of a header, such as 'X-API-Version'.", /^[\w!#$%&'*+.^`|~-]+$/)
    .shown()
    .default('X-API-Version'),
})

export interface VersionsOptions extends OptionsOf<typeof versionsOptions> {}

export interface ResolvedVersions extends ValuesOf<typeof versionsOptions> {}

/** The header by which responses of one path differ, for caches. Undefined if the path contains the version. */
export function variesBy({ by, header }: ResolvedVersions): string | undefined {
  if (by === 'path') return undefined
  return by === 'header' ? header : 'Accept'
}

/** The request header that selects a version. Empty if the path or `Accept` selects it. */
export function versionHeaders(versions: ResolvedVersions): string[] {
  return versions.by === 'header' ? [versions.header] : []
}

/** Returns a function that reads the version from a request. */
export function versionReader({
  by,
  header,
}: ResolvedVersions): (headers: IncomingHttpHeaders) => string | undefined {
  if (by === 'header') {
    const name = header.toLowerCase()
    return (headers) => {
      const value = headers[name]
      return typeof value === 'string' ? value.trim() : undefined
    }
  }
  return ({ accept }) => (accept === undefined ? undefined : fromMedia(accept))
}

/** `application/json; version=2`, `application/vnd.shop.v2+json`: the first entry with a version. */
function fromMedia(accept: string): string | undefined {
  for (const media of accept.split(',')) {
    const [type = '', ...parameters] = media.split(';').map((part) => part.trim())
    for (const parameter of parameters) {
      const [, version] = versionParameter.exec(parameter) ?? []
      if (version !== undefined) return version
    }
    const [, name = ''] = vendorType.exec(type) ?? []
    const [, version] = versionInName.exec(name.slice(name.lastIndexOf('.') + 1)) ?? []
    if (version !== undefined) return version
  }
  return undefined
}

const versionParameter = /^(?:version|v)\s*=\s*"?([\w.-]+)"?$/i
/** Captures `shop.v2` of `application/vnd.shop.v2+json`. */
const vendorType = /\/vnd\.([\w.-]+)(?:\+\w+)?$/i
const versionInName = /v(\d.*)$/i

/** Adds the version header to a route in the document. */
export function documentVersion(
  { by, header }: ResolvedVersions,
  version: string | undefined,
): DocumentOperation[] {
  if (version === undefined || by !== 'header') return []
  const parameter = {
    name: header,
    in: 'header' as const,
    required: true,
    description: 'The version of the API.',
    schema: { const: version },
  }
  return [
    (operation) => ({ ...operation, parameters: [...(operation.parameters ?? []), parameter] }),
  ]
}

/** The versions that routes have, the newest last. */
export function versionsOf(
  routes: readonly { readonly route: { readonly version?: string | undefined } }[],
): string[] {
  const versions = new Set(routes.flatMap(({ route }) => route.version ?? []))
  return [...versions].sort((one, other) => one.localeCompare(other, 'en', { numeric: true }))
}
