/**
 * Makes the address, the headers and the body of a request. Source: specification, "Browser fetch client" 1 and 2, and
 * Authentication 6.
 */
import type { HeaderValues, RequestOptions } from './options.js'

/** The options for `fetch`, with headers as a mapping and a body that is not yet encoded. */
export interface Draft extends Omit<RequestInit, 'body' | 'headers'> {
  headers: Record<string, string>
  body?: unknown
}

/** A copy of the value after its way through JSON. */
export const toJsonCopy = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

/**
 * Whether the value is sent as JSON: an object, a list, a number or a boolean, not a form, a Blob or bytes.
 *
 * Checked by tag, not instanceof: a form of another realm (an iframe) is a form too.
 */
export const isJsonBody = (value: unknown): boolean =>
  / (Ob|Num|Bo|Array])/.test({}.toString.call(value))

/**
 * Encodes the draft's body and sets or removes its `Content-Type`, both in place; the caller's value is not changed.
 *
 * @param token added to objects, forms and empty bodies as `formToken`, unless the caller has set one. Such a request
 * does not follow redirects, which could send the token to another origin.
 */
export const encodeBody = (draft: Draft, token: string | false | undefined): void => {
  const { headers, body } = draft
  if (draft.method == 'GET') delete headers['Content-Type']
  else if (
    isJsonBody(body) ||
    // Node's Buffer has it too, and is bytes.
    ((body as Date | undefined)?.toJSON && (body as { buffer?: unknown }).buffer == null) ||
    (token && body == null)
  ) {
    headers['Content-Type'] ??= 'application/json'
    draft.body = JSON.stringify(body ?? {})
    // Of all JSON texts only those of objects sort after `{`.
    if (token && (draft.body as string) > '{') {
      draft.body = JSON.stringify({ formToken: token, ...(body as object) })
      draft.redirect ??= 'error'
    }
  } else if ((body as FormData | undefined)?.append) {
    // Only the platform knows the boundary that it will use.
    if (!/boundary/i.test(headers['Content-Type'] as string)) delete headers['Content-Type']
    if (token) {
      const form = body as FormData
      const copy = (draft.body = new (form.constructor as typeof FormData)())
      // Added first, because a server may decide about a multipart body before its first file.
      if (!form.has('formToken')) copy.append('formToken', token)
      form.forEach((value, name) => {
        copy.append(name, value as Blob)
      })
      draft.redirect ??= 'error'
    }
  }
}

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
  const query = toJsonCopy(params) as Record<string, string | null | (string | null)[]>
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

/**
 * Merges several layers of headers; the last value of a name wins, whatever its case.
 *
 * A name keeps its first spelling, but `Authorization` and `Content-Type` are always spelled so.
 */
export const mergeHeaders = (
  ...layers: (HeaderValues | '' | false | undefined)[]
): Record<string, string> => {
  const names: Record<string, string> = {
    authorization: 'Authorization',
    'content-type': 'Content-Type',
  }
  const merged: Record<string, string> = {}
  for (const layer of layers as HeaderValues[]) {
    for (const name in layer) {
      if (layer[name] != null) merged[(names[name.toLowerCase()] ??= name)] = layer[name]
    }
  }
  return merged
}
