/** Parts of names of secrets, also within a longer word: `userpassword`, `accesskey`. */
const secretStems =
  /pass(?:word|wd|phrase|code)|(?:pwd|jwt|otp)$|secret|token|credential|bearer|cookie|signature|(?:api|access|private|auth|signing)[_-]?key|pin[_-]?code|card_?(?:number|no\b)|kennwort|passwort|contrase|mot_?de_?passe|senha/

/** Words that make a name a secret only as a complete word. */
const secretTerms: ReadonlySet<string> = new Set([
  ...['pass', 'pwd', 'pw', 'pin', 'jwt', 'auth', 'authorization', 'authentication', 'assertion'],
  ...['session', 'sess', 'sid', 'ssid', 'otp', 'totp', 'hotp', 'mfa', 'tan', 'csrf', 'xsrf'],
  ...['sig', 'hmac', 'hash', 'digest', 'salt', 'nonce', 'verifier', 'mnemonic'],
  ...['cvv', 'cvc', 'csc', 'ssn', 'iban', 'pan', 'samlresponse', 'code', 'key'],
])

/** Words that make `code` and `key` harmless: `postalCode` and `primaryKey`, but not `authCode` and `signingKey`. */
const harmlessQualifiers: Readonly<Record<string, ReadonlySet<string>>> = {
  code: new Set([
    ...['status', 'error', 'country', 'postal', 'post', 'zip', 'area', 'currency', 'language'],
    ...['lang', 'exit', 'http', 'product', 'color', 'colour', 'bar', 'source', 'phone', 'region'],
  ]),
  key: new Set([
    ...['primary', 'foreign', 'public', 'sort', 'cache', 'group', 'unique', 'partition', 'row'],
    ...['duplicate', 'object'],
  ]),
}

/**
 * Recognises the names of secrets: fields, parameters, variables and headers.
 *
 * @returns true for names such as `passwordConfirmation`, `X-Api-Key`, `user[pin_code]`, `password2` and `token.eq`
 */
export function isSecretName(name: string, more?: ReadonlySet<string>): boolean {
  const parts = name
    .normalize('NFKC')
    .replace(/([a-z\d])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .split(/[^\p{L}]+/u)
    .map((part) => part.toLowerCase())
    .filter((part) => part !== '')
  if (more !== undefined && name.split(/[.[\]]+/).some((part) => more.has(part))) return true
  if (secretStems.test(name.toLowerCase()) || secretStems.test(parts.join('_'))) return true
  return parts.some((part) => {
    if (!secretTerms.has(part)) return false
    const harmless = harmlessQualifiers[part]
    if (harmless === undefined) return true
    return !parts.some((other) => harmless.has(other))
  })
}

/** Headers that describe the client and the message, never a person. */
const harmlessHeaders =
  /^(?:accept(?:-charset|-encoding|-language)?|access-control-request-(?:headers|method)|cache-control|connection|content-(?:encoding|language|length|type)|date|expect|host|if-(?:match|modified-since|none-match|range|unmodified-since)|keep-alive|origin|pragma|prefer|priority|range|referer|sec-fetch-(?:dest|mode|site|user)|te|transfer-encoding|upgrade|upgrade-insecure-requests|user-agent|x-request-id)$/i

/** @returns true for headers whose values may be displayed. The query of a `referer` can contain secrets */
export function isHarmlessHeader(name: string): boolean {
  return harmlessHeaders.test(name)
}
