/**
 * Reads the keys of tokens from options, environment variables, PEM text or files (RFC 7468) and the development folder.
 * Source: decisions, Tokens.
 */

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  generateKeyPair,
  randomUUID,
} from 'node:crypto'
import { readFileSync, existsSync } from 'node:fs'
import { chmod, link, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { defaultAlgorithms, type PublicKey } from './tokens.js'
import type { Log } from '../core/log.js'
import type { Problems } from '../errors/problems.js'
import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'

const generate = promisify(generateKeyPair)

/**
 * Reads the private key of the development pair in `.filigree/private-key.pem`, or creates it with mode 0600 in a
 * folder that git ignores. If several processes start at the same time, they use the key of the first one.
 *
 * @throws {Error} if the folder cannot be written to, or the file is not a key
 */
export async function openKeyFolder(folder: string, log: Log): Promise<PrivateKey> {
  const file = join(folder, pairFile)
  const found = await readPair(file, log)
  if (found !== undefined) return found
  const createdFolder = await mkdir(folder, { recursive: true, mode: 0o700 })
  // An existing folder can contain files that belong into the repository.
  if (createdFolder !== undefined) await writeFile(join(folder, '.gitignore'), '*\n')
  const { privateKey } = await generate('rsa', { modulusLength: 2048 })
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  if (await publish(folder, file, pem)) {
    log.info({ file }, 'created a key pair for development')
  }
  const pair = await readPair(file, log)
  if (pair === undefined) throw new Error(`${file} was removed while it was created. Start again.`)
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
  await restrictPermissions(file, log)
  return readPrivateKey(pem)
}

/** Writes the file in one step, so that no reader sees a part of it. @returns false if another process was first */
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

/** For file systems without hard links: the file is created exclusively, but not in one step. */
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

async function restrictPermissions(file: string, log: Log): Promise<void> {
  if (process.platform === 'win32') return
  const { mode } = await stat(file)
  if ((mode & 0o077) === 0) return
  log.warn(
    { file, mode: (mode & 0o777).toString(8) },
    'the key was readable by other users, and has mode 0600 now',
  )
  await chmod(file, 0o600)
}

function hasCode(error: unknown, code: string): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code
}

const keyOptions = declareOptions({
  /** The key that signs tokens. Replaces `APP_PRIVATE_KEY`. */
  private: option.any<string>(),
  /**
   * The keys that verify tokens, so that tokens of an older key stay valid until they expire. By `kid` if the issuer
   * names its keys: `{ '2026-11': pem }`. Replaces `APP_PUBLIC_KEY`.
   */
  public: option.any<string | readonly string[] | Readonly<Record<string, string>>>(),
  /** The folder of the key pair for development, which is created once. Default: `.filigree` in the working directory. */
  folder: option.any<string>(),
})

/** Keys by PEM text, or by the path of a file with it. */
export interface KeyOptions extends OptionsOf<typeof keyOptions> {}

/** The origin of the keys. */
export type KeyOrigin =
  | {
      readonly from: 'given'
      readonly private: PrivateKey | undefined
      readonly public: readonly PublicKey[]
    }
  | { readonly from: 'jwks'; readonly url: string }
  | { readonly from: 'folder'; readonly folder: string }
  | { readonly from: 'none' }

/** The file of the key pair in the folder. */
const pairFile = 'private-key.pem'

interface KeyInput {
  readonly jwks?: string | undefined
  readonly keys?: KeyOptions | false | undefined
}

interface KeyEnvironment {
  readonly APP_PRIVATE_KEY?: string | undefined
  readonly APP_PUBLIC_KEY?: string | undefined
  readonly NODE_ENV?: string | undefined
}

const none: KeyOrigin = Object.freeze({ from: 'none' })

/** @param problems receives problems with the codes `UNKNOWN_OPTION` and `AUTH_KEYS` */
export function readKeyOrigin(
  { jwks, keys }: KeyInput,
  environment: KeyEnvironment,
  problems: Problems,
): KeyOrigin {
  const refuse = (message: string, remedy: string): KeyOrigin => {
    problems.add({ code: 'AUTH_KEYS', message, remedy })
    return none
  }
  if (keys === false) return none
  problems.addAll(keyOptions.findProblems(keys, 'bootstrap auth.keys'))
  const privateText = pick('auth.keys.private', keys?.private, 'APP_PRIVATE_KEY', environment)
  const publicText = pick('auth.keys.public', keys?.public, 'APP_PUBLIC_KEY', environment)
  const configured = privateText ?? publicText
  if (jwks !== undefined) {
    if (configured === undefined) return readAddress(jwks, refuse)
    return refuse(
      `bootstrap: auth.jwks and ${configured.name} cannot be combined.`,
      'Keep one of them: with auth.jwks tokens are created elsewhere and only verified here.',
    )
  }
  if (configured !== undefined) return readConfiguredKeys(privateText, publicText, refuse)
  if (environment.NODE_ENV === 'production') {
    return refuse('Production has no keys to verify tokens.', howToMakeKeys)
  }
  return readFolder(resolve(keys?.folder ?? '.filigree'), refuse)
}

type RefuseKeys = (message: string, remedy: string) => KeyOrigin

/** A setting with its name for messages. */
interface NamedText<T> {
  readonly name: string
  readonly value: T
}

type PublicText = NonNullable<KeyOptions['public']>

const howToMakeKeys =
  'Create a key with `openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out private.pem`, outside the ' +
  'repository, and set APP_PRIVATE_KEY to its path or text. Or set the variables that `npx filigree keys` prints. ' +
  'To only verify tokens, set APP_PUBLIC_KEY or auth.jwks. ' +
  'Without tokens, write auth: { keys: false }.'

/** The option, otherwise the environment variable. An empty variable counts as not set. */
function pick<T extends PublicText>(
  option: string,
  value: T | undefined,
  variable: 'APP_PRIVATE_KEY' | 'APP_PUBLIC_KEY',
  environment: KeyEnvironment,
): NamedText<T | string> | undefined {
  if (value !== undefined) return { name: option, value }
  const text = environment[variable]?.trim()
  return text === undefined || text === '' ? undefined : { name: variable, value: text }
}

function readConfiguredKeys(
  privateText: NamedText<string> | undefined,
  publicText: NamedText<PublicText> | undefined,
  refuse: RefuseKeys,
): KeyOrigin {
  const invalidNames: string[] = []
  const read = <T>(name: string, from: () => T): T | undefined => {
    try {
      return from()
    } catch (error) {
      if (!(error instanceof KeyError)) throw error
      invalidNames.push(name)
      refuse(
        `${name} ${error.message}.`,
        'Set PEM text or the path of a PEM file, RSA with at least 2048 bits.',
      )
      return undefined
    }
  }
  const signing =
    privateText && read(privateText.name, () => readPrivateKey(checkText(privateText.value)))
  const checking: PublicKey[] = []
  for (const { name, kid, text } of listPublic(publicText)) {
    checking.push(...(read(name, () => readPublicKeys(checkText(text), kid)) ?? []))
  }
  if (invalidNames.length > 0) return none
  if (signing === undefined) return { from: 'given', private: undefined, public: checking }
  const matching = checking.filter(({ key }) => key.equals(toPublicKey(signing).key))
  if (publicText?.name === 'APP_PUBLIC_KEY' && matching.length === 0) {
    return refuse(
      `${publicText.name} is not the public key of ${privateText?.name ?? 'APP_PRIVATE_KEY'}.`,
      'Remove it: the public key is derived. Write older public keys after the current one in the same PEM.',
    )
  }
  // The configured name of the own key is written into tokens.
  const kid = matching.find(({ unnamed }) => !unnamed)?.kid ?? signing.kid
  const derived = matching.length === 0 ? [toPublicKey(signing)] : []
  return { from: 'given', private: { key: signing.key, kid }, public: [...derived, ...checking] }
}

function listPublic(
  option: NamedText<PublicText> | undefined,
): { name: string; kid?: string; text: string }[] {
  if (option === undefined) return []
  const { name, value } = option
  if (typeof value === 'string') return [{ name, text: value }]
  if (isList(value)) return value.map((text, index) => ({ name: `${name}[${index}]`, text }))
  return Object.entries(value).map(([kid, text]) => ({ name: `${name}["${kid}"]`, kid, text }))
}

function isList(value: PublicText): value is readonly string[] {
  return Array.isArray(value)
}

function checkText(value: unknown): string {
  if (typeof value === 'string' && value.trim() !== '') return value
  throw new KeyError('is not text')
}

function readAddress(jwks: unknown, refuse: RefuseKeys): KeyOrigin {
  const url = typeof jwks === 'string' && URL.canParse(jwks) ? new URL(jwks) : undefined
  if (url?.protocol === 'https:' || url?.protocol === 'http:')
    return { from: 'jwks', url: url.href }
  return refuse(
    'bootstrap: auth.jwks is not an http or https address.',
    'Set the address of the issuer\'s key set: "https://id.example.org/realms/shop/protocol/openid-connect/certs".',
  )
}

function readFolder(folder: string, refuse: RefuseKeys): KeyOrigin {
  const file = join(folder, pairFile)
  try {
    if (existsSync(file)) readPrivateKey(file)
    return { from: 'folder', folder }
  } catch (error) {
    if (!(error instanceof KeyError)) throw error
    return refuse(
      `${file} ${error.message}.`,
      'Delete it: a new one is created with the next token.',
    )
  }
}

// PEM text and files (RFC 7468). They are read synchronously, because bootstrap checks keys.

/** A key that signs tokens. */
export interface PrivateKey {
  readonly kid: string
  readonly key: KeyObject
}

/** The problem of a key, as the end of `APP_PUBLIC_KEY …`. It never contains a part of the key. */
class KeyError extends Error {}

/** Shorter RSA keys are refused (RFC 7518 §3.3). */
const minBits = 2048

/**
 * @param source PEM text (line breaks may be written `\n`), or the path of a file with it
 * @throws {KeyError}
 */
export function readPrivateKey(source: string): PrivateKey {
  const pem = readPem(source)
  if (pem.includes('ENCRYPTED')) {
    throw new KeyError('is encrypted with a passphrase. Decrypt it: openssl pkey -in key.pem')
  }
  const key = parse(() => createPrivateKey(pem), 'is not a private key in PEM form')
  checkStrength(key)
  return { key, kid: thumbprint(createPublicKey(key)) }
}

/**
 * @param source as for `readPrivateKey`, with one or several keys
 * @param name the keys' `kid`; without it each has its thumbprint
 * @throws {KeyError}
 */
export function readPublicKeys(source: string, name?: string): PublicKey[] {
  const blocks = readPem(source).match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----/g)
  if (blocks === null) throw new KeyError('is not a public key in PEM form')
  return blocks.map((pem) => {
    if (pem.includes('PRIVATE'))
      throw new KeyError('contains a private key in place of a public key')
    const key = parse(() => createPublicKey(pem), 'is not a public key in PEM form')
    checkStrength(key)
    return {
      key,
      kid: name ?? thumbprint(key),
      unnamed: name === undefined,
      algorithms: defaultAlgorithms,
    }
  })
}

/** The public half of a private key. */
export function toPublicKey({ key, kid }: PrivateKey): PublicKey {
  return { key: createPublicKey(key), kid, unnamed: true, algorithms: defaultAlgorithms }
}

/** @throws {KeyError} the key cannot be used for RS256 */
export function checkStrength(key: KeyObject): void {
  if (key.asymmetricKeyType !== 'rsa') throw new KeyError('is not an RSA key, which RS256 requires')
  if ((key.asymmetricKeyDetails?.modulusLength ?? 0) < minBits) {
    throw new KeyError(`has fewer than ${minBits} bits`)
  }
}

/** SHA-256 over the key's required members in order (RFC 7638 §3.2, RFC 8037 §2), in base64url. */
export function thumbprint(key: KeyObject): string {
  const { crv, e, kty, n, x, y } = key.export({ format: 'jwk' })
  return createHash('sha256').update(JSON.stringify({ crv, e, kty, n, x, y })).digest('base64url')
}

function readPem(source: string): string {
  if (source.includes('-----BEGIN')) return source.replaceAll('\\n', '\n')
  try {
    return readFileSync(source.trim(), 'utf8')
  } catch (cause) {
    // The message omits the text, which may be a key without its first line.
    const reason = (cause as NodeJS.ErrnoException).code ?? 'unreadable'
    throw new KeyError(`is neither PEM text nor the path of a readable file (${reason})`, { cause })
  }
}

function parse(read: () => KeyObject, message: string): KeyObject {
  try {
    return read()
  } catch (cause) {
    throw new KeyError(message, { cause })
  }
}
