/** Recognises secrets by their names and by their shape, such as tokens, keys and card numbers. */
import { normalizeText } from './text.js'

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
  const parts = normalizeText(name, 'NFKC')
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

/** The text that replaces a secret. */
export const hiddenText = '(hidden)'

/** Long runs of the characters that tokens consist of. */
const longRuns = /[\w+/=.~%-]{20,}/g
const tokensOfServices =
  /\b(?:sk|pk|rk|whsec|gh[a-z]|github_pat|glpat|xox[a-z]|npm|hf|sq0[a-z]+|shp[a-z]+)[_-][\w-]{10,}|\b(?:AKIA|ASIA|AIza|ya29\.)[\w-]{12,}/g
const jsonTokens = /\beyJ[\w-]*(?:\.[\w-]*){0,4}/g
const uuids = /\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi
const cards = /(?<![\d.])[3-6]\d{3}([ -]?)\d{4}\1\d{4}\1\d{3,4}(?![\d.])/g
const schemes =
  /\b(Bearer|Basic|Digest|Negotiate|Token|ApiKey|DPoP|AWS4-HMAC-SHA256)(\s+)(\S{4,})/gi
/** The name of a scheme is bounded, because every letter of a long run could begin one. */
const userInfo = /\b([a-z][a-z\d+.-]{0,30}:\/\/[^\s:/@"'<>]*):[^\s/@"'<>]+@/gi
/** Parts of an identifier: `find`, `By`, `URL`, `2026`. */
const wordParts = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g

/**
 * Hides all parts of a text that look like a secret: tokens, keys, passwords in URLs, card numbers. A UUID keeps its first
 * part, so that rows can be distinguished.
 */
export function hideShapes(text: string): string {
  if (text.length < 8) return text
  return text
    .replace(schemes, (all, scheme: string, space: string, value: string) =>
      isWord(value) ? all : `${scheme}${space}${hiddenText}`,
    )
    .replace(userInfo, `$1:${hiddenText}@`)
    .replace(jsonTokens, (all) => (all.length < 8 ? all : hiddenText))
    .replace(tokensOfServices, hiddenText)
    .replace(uuids, '$1…')
    .replace(cards, (all) => (isCard(all) ? hiddenText : all))
    .replace(longRuns, hideRun)
}

/** `bearer of bad news` is a sentence, not a credential. */
function isWord(text: string): boolean {
  return /^[a-z]{1,12}[.,;:!?]?$/.test(text)
}

function hideRun(run: string): string {
  // Each part of a path is checked alone.
  return run.replace(/[^/.]+/g, (part) => (isRandom(part) ? hiddenText : part))
}

/** Random text has single letters, digits between letters, and long runs without vowels. Words do not. */
function isRandom(text: string): boolean {
  // Timestamps are not random.
  if (/^\d{4}-\d{2}-\d{2}T\d{2}$/.test(text)) return false
  let odd = /[+=~%]/.test(text) ? 1 : 0
  for (const match of text.matchAll(wordParts)) {
    const [part] = match
    const before = text[match.index - 1] ?? ''
    const after = text[match.index + part.length] ?? ''
    if (/\d/.test(part)) odd += /[a-z]/i.test(before + after) ? 1 : 0
    else if (part.length === 1) odd += /[aio]/i.test(part) ? 0 : 1
    else if (part.length > 16) odd += 2
    else if (part.length > 4 && !/[aeiouy]/i.test(part)) odd += 1
    else if (/[bcdfghjklmnpqrstvwxz]{6,}/i.test(part)) odd += 1
  }
  return odd >= 2
}

/** Checks the check digit (Luhn). */
function isCard(text: string): boolean {
  const digits = Array.from(text.replace(/\D/g, ''), Number).reverse()
  const sum = digits.reduce((all, digit, index) => {
    const doubled = index % 2 === 0 ? digit : digit * 2
    return all + (doubled > 9 ? doubled - 9 : doubled)
  }, 0)
  return sum % 10 === 0
}

/** Hides passwords in URLs, also in parameters and percent-encoded: `postgres://desk:secret@host` → `postgres://desk:…@host`. */
export function withoutPasswords(text: string): string {
  return text
    .replace(/(:\/\/[^\s:/@]*):[^\s/]*@(?=[^\s@/]+)/g, '$1:…@')
    .replace(/(%3A%2F%2F(?:(?!%3A|%40)\S)*)%3A(?:(?!%40)\S)+%40/gi, '$1%3A…%40')
    .replace(/([?&](?:password|pass|pwd|sslpassword)=)[^\s&#]+/gi, '$1…')
}
