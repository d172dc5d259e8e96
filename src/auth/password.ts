/** Hashes passwords: scrypt, with its parameters in the hash. Source: RFC 7914; OWASP, Password Storage. */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { normalizeText } from '../core/text.js'

/** The cost of one hash: memory is 128 · N · r bytes, time grows with N · r · p. */
interface Cost {
  /** The binary logarithm of N. */
  readonly ln: number
  readonly r: number
  readonly p: number
}

/** 16 MiB and about a quarter of a second: one of OWASP's equivalent settings. */
const cost: Cost = Object.freeze({ ln: 14, r: 8, p: 5 })
const saltBytes = 16
const hashBytes = 32

/** Hashes with a higher cost are refused: a manipulated table must not block the process. */
const maxCost: Cost = Object.freeze({ ln: 18, r: 16, p: 16 })

/**
 * PHC string format: `$scrypt$ln=14,r=8,p=5$salt$hash`, base64 without padding. The hash has 32 bytes, or 64 from
 * another program. A truncated hash is invalid.
 */
const form =
  /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{16,64})\$([A-Za-z0-9+/]{43}|[A-Za-z0-9+/]{86})$/

/** Used if there is no hash, so that this takes as long as a wrong password. */
const dummyHash = { ...cost, salt: Buffer.alloc(saltBytes), hash: Buffer.alloc(hashBytes) }

/**
 * Hashes a password off the main thread, for storing it. The hash contains its parameters, so that they can be raised
 * while older hashes stay valid.
 *
 * @returns `$scrypt$ln=14,r=8,p=5$…`, 88 characters, different each time
 * @throws {TypeError} if the password is empty or not a text
 */
export async function hashPassword(password: string): Promise<string> {
  if (typeof password !== 'string' || password === '') {
    throw new TypeError('hashPassword: the password is not text, or is empty. Check it first.')
  }
  const salt = randomBytes(saltBytes)
  const hash = await derive(password, salt, hashBytes, cost)
  const { ln, r, p } = cost
  return `$scrypt$ln=${ln},r=${r},p=${p}$${toText(salt)}$${toText(hash)}`
}

/**
 * Checks a password against a stored hash, off the main thread and in constant time.
 *
 * @param storedHash the result of `hashPassword`; any other text, null and undefined return false and take as long as a
 * wrong password, so that they do not reveal whether an account exists
 */
export async function verifyPassword(
  password: string,
  storedHash: string | null | undefined,
): Promise<boolean> {
  const parsed = readHash(storedHash)
  const { salt, hash, ...parameters } = parsed ?? dummyHash
  const isText = typeof password === 'string'
  const derived = await derive(isText ? password : '', salt, hash.length, parameters)
  return timingSafeEqual(derived, hash) && parsed !== undefined && isText
}

function readHash(storedHash: unknown): typeof dummyHash | undefined {
  const match = typeof storedHash === 'string' ? form.exec(storedHash) : null
  if (match === null) return undefined
  const [ln = 0, r = 0, p = 0] = match.slice(1, 4).map(Number)
  if (ln < 1 || r < 1 || p < 1 || ln > maxCost.ln || r > maxCost.r || p > maxCost.p)
    return undefined
  const [salt, hash] = [match[4] ?? '', match[5] ?? ''].map((text) => Buffer.from(text, 'base64'))
  if (salt === undefined || hash === undefined) return undefined
  if (toText(salt) !== match[4] || toText(hash) !== match[5]) return undefined
  return { ln, r, p, salt, hash }
}

/** The password is normalised, so that it is the same text from every keyboard (RFC 8265 §4.2). */
function derive(
  password: string,
  salt: Buffer,
  bytes: number,
  { ln, r, p }: Cost,
): Promise<Buffer> {
  const N = 2 ** ln
  return new Promise((resolve, reject) => {
    const maxmem = 128 * r * (N + p) + 1024 * 1024
    scrypt(normalizeText(password, 'NFC'), salt, bytes, { N, r, p, maxmem }, (error, hash) => {
      // Bun calls back with undefined in place of null.
      if (error instanceof Error) reject(error)
      else resolve(hash)
    })
  })
}

function toText(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '')
}
