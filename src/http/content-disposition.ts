/** Writes the name under which a browser saves a response. Source: RFC 6266 §4.3 and appendix D; RFC 8187 §3.2. */
import { cleanFileName } from './upload.js'

/**
 * @param name any text; folders and control characters are removed
 * @returns both forms: `attachment; filename="Ubersicht _.csv"; filename*=UTF-8''%C3%9Cbersicht%20%E2%82%AC.csv`
 */
export function attachmentNamed(name: string): string {
  const clean = cleanFileName(name.replace(/\p{Surrogate}/gu, '\ufffd'))
  const plain = clean.normalize('NFKD').replace(/\p{Mark}/gu, '')
  // Some browsers decode percent signs, others end the name at an escaped quote.
  const ascii = plain.replace(/[^ -~]|["%\\]/gu, '_')
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encodeExtended(clean)}`
}

/** `encodeURIComponent` leaves these characters, which RFC 8187 does not allow. */
function encodeExtended(text: string): string {
  return encodeURIComponent(text).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
