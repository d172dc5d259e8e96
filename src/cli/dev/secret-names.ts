/** Which names stand for secrets: of fields, parameters, variables, headers. They are judged by their words. */

/** Inside of words, too: `userpassword`, `accesskey`. */
const stems =
  /pass(?:word|wd|phrase|code)|secret|token|credential|bearer|cookie|signature|(?:api|access|private|auth|signing)[_-]?key|pin[_-]?code|card_?(?:number|no\b)|kennwort|passwort|contrase|mot_?de_?passe|senha/

const words: ReadonlySet<string> = new Set([
  ...['pass', 'pwd', 'pw', 'pin', 'jwt', 'auth', 'authorization', 'authentication', 'assertion'],
  ...['session', 'sess', 'sid', 'ssid', 'otp', 'totp', 'hotp', 'mfa', 'tan', 'csrf', 'xsrf'],
  ...['sig', 'hmac', 'hash', 'digest', 'salt', 'nonce', 'verifier', 'mnemonic'],
  ...['cvv', 'cvc', 'csc', 'ssn', 'iban', 'pan', 'samlresponse', 'code', 'key'],
])

/** `postalCode` and `primaryKey` are none; `authCode` and `signingKey` are. */
const harmlessBeside: Readonly<Record<string, ReadonlySet<string>>> = {
  code: new Set([
    ...['status', 'error', 'country', 'postal', 'post', 'zip', 'area', 'currency', 'language'],
    ...['lang', 'exit', 'http', 'product', 'color', 'colour', 'bar', 'source', 'phone', 'region'],
  ]),
  key: new Set([
    ...['primary', 'foreign', 'public', 'sort', 'cache', 'group', 'unique', 'partition', 'row'],
    ...['duplicate', 'object'],
  ]),
}

/** `passwordConfirmation`, `X-Api-Key`, `user[pin_code]`, `password2`, `token.eq`. */
export function isSecretName(name: string, more?: ReadonlySet<string>): boolean {
  const parts = name
    .normalize('NFKC')
    .replace(/([a-z\d])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .split(/[^\p{L}]+/u)
    .map((part) => part.toLowerCase())
    .filter((part) => part !== '')
  if (more !== undefined && name.split(/[.[\]]+/).some((part) => more.has(part))) return true
  if (stems.test(name.toLowerCase()) || stems.test(parts.join('_'))) return true
  return parts.some((part) => {
    if (!words.has(part)) return false
    const harmless = harmlessBeside[part]
    if (harmless === undefined) return true
    return !parts.some((other) => harmless.has(other))
  })
}
