/** Which answers are worth compressing: all kinds of text, never compressed formats or event streams. */
import type { Answer } from '../../index.js'

const packable =
  /^(?:text\/(?!event-stream)|application\/(?:json|javascript|xml|wasm|graphql|manifest|rtf|sql|toml|x-ndjson|x-www-form-urlencoded|yaml)\b|font\/(?:otf|ttf)|image\/(?:bmp|svg|x-icon|vnd\.microsoft\.icon)|[\w.-]+\/[\w.+-]+\+(?:json|xml|yaml|text)\b)/i

/** True if some client would get it compressed: then every client gets `Vary: Accept-Encoding`. */
export function mayPack(answer: Answer): boolean {
  const { status, headers } = answer
  if (namesIn(answer, 'Cache-Control').includes('no-transform')) return false
  // Of what it stands for nobody says the type here.
  if (status === 304) return true
  if (headers.get('Content-Encoding') !== undefined) return false
  // They are of these very bytes.
  if (headers.get('Content-Digest') !== undefined) return false
  return packable.test(headers.get('Content-Type')?.trim() ?? '')
}

/** The words of a header's list, in lower case. */
export function namesIn({ headers }: Answer, name: string): string[] {
  return (headers.get(name) ?? '').split(',').map((word) => word.trim().toLowerCase())
}
