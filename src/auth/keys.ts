/** The keys in use, whatever their origin; nothing is read, made or fetched before the first token needs it. */
import type { Log } from '../core/log.js'
import { createKeySet, keySetLife, type KeySetOptions } from './jwks.js'
import { openKeyFolder } from './key-folder.js'
import type { KeyOrigin } from './key-origin.js'
import { toPublicKey, type PrivateKey, type PublicKey } from './pem.js'

export interface Keys {
  /**
   * The key that tokens are made with.
   *
   * @throws {Error} where tokens are only checked
   */
  signing(): Promise<PrivateKey>
  /** Tokens can be made, as far as is known before trying. */
  readonly canSign: boolean
  /** Keys that may have signed a token whose header names this `kid`. */
  checking(kid: string | undefined): readonly PublicKey[] | Promise<readonly PublicKey[]>
  /** Milliseconds that a checked token may be believed before its key has to be looked up again. */
  readonly trustFor: number
  /** Runs `forget` when keys were replaced or withdrawn. */
  onChange(forget: () => void): void
}

export interface KeysOptions {
  readonly origin: KeyOrigin
  readonly log: Log
  /** Milliseconds since 1970. Default the system's clock. */
  readonly now?: () => number
  /** Bytes of the largest key set that is read. Default 262,144. */
  readonly mostBytes?: number
}

/** A `kid` that an issuer may have chosen for a key that was given to us without a name. */
const plainName = /^[\w.:~=+-]{1,200}$/

export function createKeys(options: KeysOptions): Keys {
  const { origin, log, now = Date.now, mostBytes = 256 * 1024 } = options
  switch (origin.from) {
    case 'given':
      return createGivenKeys(origin.private, origin.public)
    case 'folder':
      return createFolderKeys(origin.folder, log)
    case 'jwks':
      return createRemoteKeys({ url: origin.url, log, now, mostBytes })
    case 'none':
      return createGivenKeys(undefined, [])
  }
}

function createGivenKeys(pair: PrivateKey | undefined, keys: readonly PublicKey[]): Keys {
  return {
    signing: () => (pair === undefined ? refuseToSign() : Promise.resolve(pair)),
    canSign: pair !== undefined,
    checking: (kid) => selectKeys(keys, kid),
    trustFor: Infinity,
    onChange: () => undefined,
  }
}

function createFolderKeys(folder: string, log: Log): Keys {
  let opened: Promise<PrivateKey> | undefined
  const open = (): Promise<PrivateKey> => {
    opened ??= openKeyFolder(folder, log).catch((error: unknown) => {
      opened = undefined
      throw error
    })
    return opened
  }
  return {
    signing: open,
    canSign: true,
    checking: async (kid) => selectKeys([toPublicKey(await open())], kid),
    trustFor: Infinity,
    onChange: () => undefined,
  }
}

function createRemoteKeys(options: Omit<KeySetOptions, 'onChange'>): Keys {
  const listeners: (() => void)[] = []
  const set = createKeySet({
    ...options,
    onChange: () => {
      for (const forget of listeners) forget()
    },
  })
  return {
    signing: refuseToSign,
    canSign: false,
    checking: (kid) => set.find(kid),
    trustFor: keySetLife,
    onChange: (forget) => {
      listeners.push(forget)
    },
  }
}

/** Keys of that name, else those that came without one: another issuer may call them what it likes. */
function selectKeys(keys: readonly PublicKey[], kid: string | undefined): readonly PublicKey[] {
  if (kid === undefined) return keys
  const named = keys.filter((key) => key.kid === kid)
  if (named.length > 0 || !plainName.test(kid)) return named
  return keys.filter(({ unnamed }) => unnamed)
}

function refuseToSign(): Promise<PrivateKey> {
  return Promise.reject(
    new Error(
      'Auth.getToken: there is no private key here, tokens are only checked. Set APP_PRIVATE_KEY to make them.',
    ),
  )
}
