/** Makes the address of a request. Source: specification, "Browser fetch client" 1; decisions, Browser client. */
import { plain } from './body.js'
import type { RequestOptions } from './options.js'

/**
 * Joins base and path with one slash, fills `<id:int>` and `{id:int}`, and adds the query string before any `#part`.
 *
 * An absolute path (`https://…`) is used unchanged; `//other.host` is a path, not a host, as are its other spellings
 * that platforms would read as a host.
 *
 * @throws {Error} if a value of `options.path` is missing, empty, `.` or `..`: it would lead to another route
 */
export const toAddress = (base: string, path: string, options: RequestOptions): string => {
  const { params = {}, path: values } = options
  if (values) path = fill(path, values)
  if (!/^\w+:\//.test(path)) {
    path = path
      ? base.replace(/\/+$/, '') + path.replace(base ? /^[/\\\s]*/ : /^[/\\\s]+/, '/')
      : base
  }
  // Dates become ISO 8601 and `undefined` null, as in a body.
  const query = plain(params) as Record<string, string | null | (string | null)[]>
  for (const key in query) {
    for (const value of [query[key]].flat()) {
      // Not URLSearchParams because it writes `+` for a space. No `$` survives encoding, so `$&` is the only one.
      if (value != null) {
        path = path.replace(
          /#|$/,
          (/^[^#]*\?/.test(path) ? '&' : '?') +
            encodeURIComponent(key) +
            '=' +
            encodeURIComponent(value) +
            '$&',
        )
      }
    }
  }
  return path
}

const fill = (path: string, values: NonNullable<RequestOptions['path']>): string =>
  path.replace(/[<{](\w+):?(\w*)[>}]/g, (_, name: string, kind: string) => {
    const value = (values[name] ?? '') as string
    if (/^$|(^|\/)\.\.?(\/|$)/.test(value)) throw Error('No path.' + name)
    return encodeURIComponent(value).replace(kind == 'path' ? /%2F/g : '/', '/')
  })

/** The origin of a request for the address; `undefined` if `fetch` could not resolve it either. */
export const originOf = (address: string): string | undefined => {
  try {
    // Request resolves like fetch does, also in a page with a base element.
    return new URL(new Request(address).url).origin
  } catch {
    // Returns undefined.
  }
}
