/** The record of passkeys. */
import { Field, Record, type Claims, type Generated, type RowsCaller } from '../../index.js'

/** Users may read their own passkeys. The operator's key may read all. */
function mayRead(user: Claims | null, { by }: RowsCaller): boolean | { sub: string } {
  if (by === 'key') return true
  return typeof user?.sub === 'string' ? { sub: user.sub } : false
}

/**
 * A passkey of somebody. Clients read their own and write none; the routes of `passkeys` add, use and remove them. A class of
 * one's own may extend it.
 */
@Record<Passkey>({
  table: 'passkeys',
  writes: false,
  rows: mayRead,
  indexes: [{ fields: ['sub', 'id'] }],
})
export class Passkey {
  @Field('id') id!: number
  /** Its id at the authenticator, base64url. */
  @Field('string', { unique: true, maxLength: 1400 }) credential!: string
  /** Whose it is: the claim `sub`. */
  @Field('string', { readOnly: true }) sub!: string
  /** COSE, base64url. */
  @Field('text', { hidden: true }) publicKey!: string
  /** How often the authenticator says it was used; 0 where it does not count. It never goes back. */
  @Field('integer', { hidden: true, default: 0 }) counter!: Generated<number>
  /** How browsers reach it: `internal`, `hybrid`, `usb`, `nfc`, `ble`. */
  @Field('json', { default: [] }) transports!: Generated<string[]>
  /** What its owner calls it. */
  @Field('string', { nullable: true, maxLength: 200 }) name!: string | null
  @Field('datetime') createdAt!: string
  @Field('datetime', { nullable: true }) lastUsed!: string | null
}
