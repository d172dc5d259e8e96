/**
 * The ids of records for clients: their keys, or global ids (`Product:7` as base64), by which a client can read any record with
 * the query `node`. Source: GraphQL Server Specification of Relay, Object Identification.
 */

/** A decoded global id. */
export interface GlobalId {
  /** The GraphQL type, which is the class's name. */
  readonly type: string
  /** The record's key as text. */
  readonly id: string
}

/** Returns the global id of a record, as clients get it with `graphql: { relay: true }`: `toGlobalId('Product', 7)`. */
export function toGlobalId(type: string, id: string | number): string {
  return Buffer.from(`${type}:${id}`).toString('base64')
}

/** Decodes an id of `toGlobalId`. @returns `undefined` for an invalid id */
export function fromGlobalId(globalId: unknown): GlobalId | undefined {
  if (typeof globalId !== 'string') return undefined
  const bytes = Buffer.from(globalId, 'base64')
  // Only the canonical form is valid. Base64 decoders also accept other texts, such as texts with spaces.
  if (bytes.toString('base64') !== globalId) return undefined
  const [, type, id] = /^(\w+):(.+)$/s.exec(bytes.toString()) ?? []
  return type === undefined || id === undefined ? undefined : { type, id }
}

/** Converts the keys of a record to the ids of clients and back. */
export interface IdForm {
  /** The type in global ids; `undefined` if ids are the keys themselves. */
  readonly type: string | undefined
  /** @returns the key or its text; `undefined` for an id of another type */
  read(id: unknown): unknown
  write(key: unknown): unknown
}

export const plainIds: IdForm = Object.freeze({
  type: undefined,
  read: (id: unknown) => id,
  write: (key: unknown) => key,
})

export function globalIds(type: string): IdForm {
  return Object.freeze({
    type,
    read: (id: unknown) => {
      const found = fromGlobalId(id)
      return found?.type === type ? found.id : undefined
    },
    write: (key: unknown) => toGlobalId(type, key as string | number),
  })
}
