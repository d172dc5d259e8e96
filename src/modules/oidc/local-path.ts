/** Restricts the target of a sign-in to paths of this application (RFC 9700 §4.11.2; WHATWG URL). */

/** Maximum length of a path, because several are sent as cookies in one request. */
const maxLength = 512

/** A base with an invalid host, so that URLs of other hosts are detected. */
const baseUrl = 'http://filigree.invalid'

/**
 * @param input the value that a client sent
 * @returns the path with query and fragment as a browser would write it, and `/` for anything that could lead elsewhere
 */
export function toLocalPath(input: unknown): string {
  if (typeof input !== 'string' || input.length > maxLength || !input.startsWith('/')) return '/'
  // Browsers take a backslash for a slash and leave tabs and line breaks out; proxies may decode both.
  if (/[\\\p{Cc}\p{Cs}\u2028\u2029\ufeff]/u.test(input)) return '/'
  const path = input.split(/[?#]/, 1)[0] ?? ''
  if (/%(?:5c|2f|0[0-9a-f]|1[0-9a-f]|7f|25(?:5c|2f))/i.test(path)) return '/'
  if (!URL.canParse(input, baseUrl)) return '/'
  const { origin, pathname, search, hash } = new URL(input, baseUrl)
  return origin === baseUrl && !pathname.startsWith('//') ? pathname + search + hash : '/'
}

/** Adds a query parameter to a path. @param path a result of `toLocalPath` */
export function withQuery(path: string, name: string, value: string): string {
  const url = new URL(path, baseUrl)
  url.searchParams.set(name, value)
  return url.pathname + url.search + url.hash
}
