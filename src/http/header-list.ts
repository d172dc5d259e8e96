const noToken = /[^!#$%&'*+\-.^_`|~0-9A-Za-z]/
// A value may contain the control character Tab. Node cannot write characters above U+00FF.
const unsendable = /[\0-\x08\n-\x1f\x7f]|[^\0-\xff]/
const framing = /^(?:transfer-encoding|trailer|content-length)$/i

/** Headers that may occur in a response more than once. */
const repeatable = /^(?:set-cookie|vary|link|www-authenticate)$/i

/**
 * Checks that a header can be sent. Source: RFC 9110 §5.1 (names) and §5.5 (values).
 *
 * @throws {TypeError} for a name that is not a token, a value with CR, LF, NUL, another control character or a character
 * above U+00FF, and a header that Filigree writes itself
 */
export function assertHeader(name: string, value: string): void {
  if (!soundNames.has(name)) assertName(name)
  assertValue(name, value)
}

/**
 * As `assertHeader`, for headers that an interceptor sets on a response. `Access-Control-Expose-Headers` is allowed,
 * because it can only add to the configured headers.
 */
export function assertAnswerHeader(name: string, value: string): void {
  if (/^access-control-expose-headers$/i.test(name)) assertValue(name, value)
  else assertHeader(name, value)
}

/** Names that were checked already, because a program sends the same few names with every response. */
const soundNames = new Set<string>()
const maxSoundNames = 200

function assertName(name: string): void {
  if (name === '' || noToken.test(name)) {
    throw new TypeError(
      `Header ${JSON.stringify(name)}: this is not a header name. Use letters, digits and "-".`,
    )
  }
  if (framing.test(name)) {
    throw new TypeError(`Header "${name}": it is made from the body. Leave it out.`)
  }
  if (/^access-control-/i.test(name)) {
    throw new TypeError(
      `Header "${name}": CORS headers are on every response. Set them in bootstrap's \`cors\`.`,
    )
  }
  if (soundNames.size < maxSoundNames) soundNames.add(name)
}

function assertValue(name: string, value: string): void {
  if (unsendable.test(value)) throw new TypeError(`Header "${name}": ${describeInvalid(value)}`)
}

function describeInvalid(value: string): string {
  if (/[\r\n]/.test(value)) return 'the value contains CR or LF. Take the line breaks out.'
  if (value.includes('\0')) return 'the value contains NUL. Take it out.'
  return 'the value contains a character that no header can carry. Percent-encode it.'
}

/** Sets a header: replaces the one with the same name, or adds it at the end if it is new or repeatable. */
export function setHeader(list: string[], name: string, value: string): void {
  const index = repeatable.test(name) ? -1 : findHeader(list, name)
  if (index === -1) list.push(name, value)
  else list.splice(index, 2, name, value)
}

/** Adds headers that the list does not have yet, and repeatable ones. */
export function addMissing(list: string[], more: readonly string[]): void {
  for (let index = 0; index + 1 < more.length; index += 2) {
    const name = more[index] ?? ''
    if (findHeader(list, name) === -1 || repeatable.test(name))
      list.push(name, more[index + 1] ?? '')
  }
}

/** @param list names and values in turn, names in any case */
export function hasHeader(list: readonly string[], name: string): boolean {
  return findHeader(list, name) !== -1
}

/** All values of a header. */
export function valuesOf(list: readonly string[], name: string): string[] {
  const lowerName = name.toLowerCase()
  const values: string[] = []
  for (let index = 0; index + 1 < list.length; index += 2) {
    if (list[index]?.toLowerCase() === lowerName) values.push(list[index + 1] ?? '')
  }
  return values
}

/** Removes all occurrences of a header. */
export function removeHeader(list: string[], name: string): void {
  for (let at = findHeader(list, name); at !== -1; at = findHeader(list, name)) list.splice(at, 2)
}

/** @param list names and values in turn, names in any case */
export function findValue(list: readonly string[], name: string): string | undefined {
  const index = findHeader(list, name)
  return index === -1 ? undefined : list[index + 1]
}

/** The index of a header's name, whatever its case, or -1. */
function findHeader(list: readonly string[], name: string): number {
  const lowerName = name.toLowerCase()
  for (let index = 0; index < list.length; index += 2) {
    const present = list[index] ?? ''
    if (present.length === name.length && present.toLowerCase() === lowerName) return index
  }
  return -1
}
