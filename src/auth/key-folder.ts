/**
 * The pair that a developer's machine makes once and keeps: `.filigree/private-key.pem`, mode 0600, in a folder that git
 * passes over. Several processes may start at once; the first that finishes wins and the others take its key.
 */
import { generateKeyPair, randomUUID } from 'node:crypto'
import { chmod, link, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Log } from '../core/log.js'
import { pairFile } from './key-origin.js'
import { readPrivateKey, type PrivateKey } from './pem.js'

const generate = promisify(generateKeyPair)

/**
 * Reads the pair's private key, or makes it.
 *
 * @throws {Error} when the folder cannot be written to, or holds something else
 */
export async function openKeyFolder(folder: string, log: Log): Promise<PrivateKey> {
  const file = join(folder, pairFile)
  const found = await readPair(file, log)
  if (found !== undefined) return found
  const made = await mkdir(folder, { recursive: true, mode: 0o700 })
  // A folder that was there before may hold what belongs into the repository.
  if (made !== undefined) await writeFile(join(folder, '.gitignore'), '*\n')
  const { privateKey } = await generate('rsa', { modulusLength: 2048 })
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  if (await publish(folder, file, pem)) {
    log.info({ file }, 'made a key pair for development')
  }
  const pair = await readPair(file, log)
  if (pair === undefined) throw new Error(`${file} was removed while it was made. Start again.`)
  return pair
}

async function readPair(file: string, log: Log): Promise<PrivateKey | undefined> {
  let pem: string
  try {
    pem = await readFile(file, 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
  await closeToOthers(file, log)
  return readPrivateKey(pem)
}

/** Writes the whole file in one step, so that no reader sees half of it. False if another process was first. */
async function publish(folder: string, file: string, pem: string): Promise<boolean> {
  const draft = join(folder, `${randomUUID()}.tmp`)
  await writeFile(draft, pem, { mode: 0o600, flag: 'wx' })
  try {
    await link(draft, file)
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    return await writeWhereLinksFail(file, pem, error)
  } finally {
    await rm(draft, { force: true })
  }
}

/** Some file systems have no hard links; there the file is made exclusively, though not in one step. */
async function writeWhereLinksFail(file: string, pem: string, cause: unknown): Promise<boolean> {
  if (!['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP'].some((code) => hasCode(cause, code)))
    throw cause
  try {
    await writeFile(file, pem, { mode: 0o600, flag: 'wx' })
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw error
  }
}

async function closeToOthers(file: string, log: Log): Promise<void> {
  if (process.platform === 'win32') return
  const { mode } = await stat(file)
  if ((mode & 0o077) === 0) return
  log.warn(
    { file, mode: (mode & 0o777).toString(8) },
    'the key was readable by others; now it is 0600',
  )
  await chmod(file, 0o600)
}

function hasCode(error: unknown, code: string): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code
}
