/** Takes the passwords out of addresses before they are shown. */

/** `postgres://desk:secret@host/desk` → `postgres://desk:…@host/desk`, also where it is written in a query's way. */
export function withoutPasswords(text: string): string {
  return text
    .replace(/(:\/\/[^\s:/@]*):[^\s/]*@(?=[^\s@/]+)/g, '$1:…@')
    .replace(/(%3A%2F%2F(?:(?!%3A|%40)\S)*)%3A(?:(?!%40)\S)+%40/gi, '$1%3A…%40')
    .replace(/([?&](?:password|pass|pwd|sslpassword)=)[^\s&#]+/gi, '$1…')
}

/** Which texts look like secrets whatever they are called: tokens, keys, numbers of cards. */

/** Stands where a value was. */
export const hiddenText = '(hidden)'

/** Runs of characters that tokens are written in; what stands in round brackets is ours. */
const runs = /[\w+/=.~%-]{20,}/g
const tokensOfServices =
  /\b(?:sk|pk|rk|whsec|gh[a-z]|github_pat|glpat|xox[a-z]|npm|hf|sq0[a-z]+|shp[a-z]+)[_-][\w-]{10,}|\b(?:AKIA|ASIA|AIza|ya29\.)[\w-]{12,}/g
const jsonTokens = /\beyJ[\w-]*(?:\.[\w-]*){0,4}/g
const uuids = /\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi
const cards = /(?<![\d.])[3-6]\d{3}([ -]?)\d{4}\1\d{4}\1\d{3,4}(?![\d.])/g
const schemes =
  /\b(Bearer|Basic|Digest|Negotiate|Token|ApiKey|DPoP|AWS4-HMAC-SHA256)(\s+)(\S{4,})/gi
const userInfo = /\b([a-z][a-z\d+.-]*:\/\/[^\s:/@"'<>]*):[^\s/@"'<>]+@/gi
/** Parts of a word as people write them: `find`, `By`, `URL`, `2026`. */
const parts = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g

/** A UUID keeps its beginning, so that rows can be told apart. */
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
    .replace(runs, hideRun)
}

/** `bearer of bad news` is a sentence. */
function isWord(text: string): boolean {
  return /^[a-z]{1,12}[.,;:!?]?$/.test(text)
}

function hideRun(run: string): string {
  // The parts of a path are judged one by one; what is left of a token then is no token.
  return run.replace(/[^/.]+/g, (part) => (isRandom(part) ? hiddenText : part))
}

/** People write words; chance writes single letters, digits among them, and words without vowels. */
function isRandom(text: string): boolean {
  // The marks of their own that are no part of a word.
  if (/^\d{4}-\d{2}-\d{2}T\d{2}$/.test(text)) return false
  let odd = /[+=~%]/.test(text) ? 1 : 0
  for (const match of text.matchAll(parts)) {
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

/** By its check digit. */
function isCard(text: string): boolean {
  const digits = Array.from(text.replace(/\D/g, ''), Number).reverse()
  const sum = digits.reduce((all, digit, place) => {
    const doubled = place % 2 === 0 ? digit : digit * 2
    return all + (doubled > 9 ? doubled - 9 : doubled)
  }, 0)
  return sum % 10 === 0
}

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
