/** Passwords as scrypt hashes. */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

const derive = promisify<string, Buffer, number, Buffer>(scrypt)
const size = 32

/** @returns `scrypt$salt$hash`, both in base64 */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16)
  const hash = await derive(password, salt, size)
  return `scrypt$${salt.toString('base64')}$${hash.toString('base64')}`
}

/** Takes as long where there is no hash as for a wrong password. */
export async function isPassword(password: string, stored: string | undefined): Promise<boolean> {
  const [, salt = '', hash = ''] = stored?.split('$') ?? []
  const wanted = Buffer.from(hash, 'base64')
  const given = await derive(password, Buffer.from(salt, 'base64'), size)
  return wanted.length === size && timingSafeEqual(given, wanted)
}
