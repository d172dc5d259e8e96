/**
 * Checks headers that programs set. Source: RFC 9110 §5.1 (names) and §5.5 (values).
 */

const nonTokenCharacter = /[^!#$%&'*+\-.^_`|~0-9A-Za-z]/
// A value may contain the control character Tab. Node cannot write characters above U+00FF.
const unsendable = /[\0-\x08\n-\x1f\x7f]|[^\0-\xff]/
const framing = /^(?:transfer-encoding|trailer|content-length)$/i

/**
 * Checks that a header can be sent.
 *
 * @throws {TypeError} for a name that is not a token, a value with CR, LF, NUL, another control character or a character
 * above U+00FF, and a header that Filigree writes itself
 */
export function checkHeader(name: string, value: string): void {
  if (!checkedNames.has(name)) checkName(name)
  checkValue(name, value)
}

/**
 * As `checkHeader`, for headers that an interceptor sets on a response. `Access-Control-Expose-Headers` is allowed,
 * because it can only add to the configured headers.
 */
export function checkInterceptedHeader(name: string, value: string): void {
  if (/^access-control-expose-headers$/i.test(name)) checkValue(name, value)
  else checkHeader(name, value)
}

/** Names that were checked already, because a program sends the same few names with every response. */
const checkedNames = new Set<string>()
const maxCheckedNames = 200

function checkName(name: string): void {
  if (name === '' || nonTokenCharacter.test(name)) {
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
  if (checkedNames.size < maxCheckedNames) checkedNames.add(name)
}

function checkValue(name: string, value: string): void {
  if (unsendable.test(value)) throw new TypeError(`Header "${name}": ${describeInvalid(value)}`)
}

function describeInvalid(value: string): string {
  if (/[\r\n]/.test(value)) return 'the value contains CR or LF. Take the line breaks out.'
  if (value.includes('\0')) return 'the value contains NUL. Take it out.'
  return 'the value contains a character that no header can carry. Percent-encode it.'
}
