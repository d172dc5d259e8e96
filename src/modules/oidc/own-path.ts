/** Where a sign-in may lead: a path of this application and nothing else. Source: RFC 9700 §4.11.2; WHATWG URL. */

/** Of longer ones few would fit into the head of a request beside each other, as cookies. */
const mostLength = 512

/** Not a real name, so that whatever leaves it shows. */
const home = 'http://filigree.invalid'

/**
 * @param given what a client sent
 * @returns the path with query and fragment as a browser would write it, and `/` for anything that could lead elsewhere
 */
export function toOwnPath(given: unknown): string {
  if (typeof given !== 'string' || given.length > mostLength || !given.startsWith('/')) return '/'
  // Browsers take a backslash for a slash and leave tabs and line breaks out; proxies may decode both.
  if (/[\\\p{Cc}\p{Cs}\u2028\u2029\ufeff]/u.test(given)) return '/'
  const path = given.split(/[?#]/, 1)[0] ?? ''
  if (/%(?:5c|2f|0[0-9a-f]|1[0-9a-f]|7f|25(?:5c|2f))/i.test(path)) return '/'
  if (!URL.canParse(given, home)) return '/'
  const { origin, pathname, search, hash } = new URL(given, home)
  return origin === home && !pathname.startsWith('//') ? pathname + search + hash : '/'
}

/** The same with one more pair in its query. @param path of `toOwnPath` */
export function withQuery(path: string, name: string, value: string): string {
  const url = new URL(path, home)
  url.searchParams.set(name, value)
  return url.pathname + url.search + url.hash
}
