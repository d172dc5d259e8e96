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
