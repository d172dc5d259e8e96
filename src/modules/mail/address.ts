/** Addresses of mail: `ann@example.com`, `Ann <ann@example.com>`, `"Ann, Dr." <ann@example.com>`. Source: RFC 5322, 3.4. */

/** As transports take them, so that none reads an address a second time. */
export interface ReadAddress {
  readonly name: string
  readonly address: string
}

// The part behind @ may be in any script; signs that separate addresses or headers are in none.
const plain = /^[^\s\p{Cc}<>()[\]\\,;:"@]{1,64}@[^\s\p{Cc}<>()[\]\\,;:"@]{1,255}$/u
const named = /^(?:"((?:[^"\\\p{Cc}]|\\[^\p{Cc}])*)"|([^\p{Cc}<>,;:"@]*?))\s*<([^<>]+)>$/u

/** @returns undefined if it is not one address */
export function readAddress(text: unknown): ReadAddress | undefined {
  if (typeof text !== 'string' || text.length > 500) return undefined
  if (plain.test(text)) return { name: '', address: text }
  const [, quoted, bare = '', address = ''] = named.exec(text) ?? []
  if (!plain.test(address)) return undefined
  return { name: quoted?.replace(/\\(.)/gu, '$1') ?? bare.trim(), address }
}
