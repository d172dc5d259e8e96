/** The record of passkeys, and who may read it. */
import { Field, Record, type Claims, type Generated, type RowsCaller } from '../../index.js'

/** Users may read their own passkeys. The operator's key may read all. */
function mayRead(user: Claims | null, { by }: RowsCaller): boolean | { sub: string } {
  if (by === 'key') return true
  return typeof user?.sub === 'string' ? { sub: user.sub } : false
}

/**
 * The record of passkeys. Clients may read their own passkeys and write none. The routes of `passkeys` add, use and remove
 * them. An application may extend this class.
 */
@Record<Passkey>({
  table: 'passkeys',
  writes: false,
  rows: mayRead,
  indexes: [{ fields: ['sub', 'id'] }],
})
export class Passkey {
  @Field('id') id!: number
  /** The credential id of the authenticator, base64url. */
  @Field('string', { unique: true, maxLength: 1400 }) credential!: string
  /** The claim `sub` of its owner. */
  @Field('string', { readOnly: true }) sub!: string
  /** A COSE key, base64url. */
  @Field('text', { hidden: true }) publicKey!: string
  /** The number of uses that the authenticator reports. 0 if it does not count. Never decreases. */
  @Field('integer', { hidden: true, default: 0 }) counter!: Generated<number>
  /** How browsers reach the authenticator: `internal`, `hybrid`, `usb`, `nfc`, `ble`. */
  @Field('json', { default: [] }) transports!: Generated<string[]>
  /** A name that the owner has chosen. */
  @Field('string', { nullable: true, maxLength: 200 }) name!: string | null
  @Field('datetime') createdAt!: string
  @Field('datetime', { nullable: true }) lastUsed!: string | null
}
