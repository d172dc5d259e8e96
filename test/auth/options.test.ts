/** Source: decisions, Tokens. */
import type { AuthOptions } from '../../src/index.js'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { makePair, type Pair } from './key-pair.js'
import { resolveAuth, type AuthEnvironment } from './fixtures.js'

let folder: string
let pair: Pair
let other: Pair

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'filigree-keys-'))
  pair = makePair()
  other = makePair()
})

afterAll(() => {
  rmSync(folder, { recursive: true })
})

function resolve(options: AuthOptions = {}, environment: AuthEnvironment = {}) {
  const safe = options.keys === undefined ? { ...options, keys: { folder } } : options
  return resolveAuth(safe, environment)
}

const toFile = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const counts = (options: AuthOptions, environment: AuthEnvironment) => {
  const { resolved, problems } = resolve(options, environment)
  expect(problems).toEqual([])
  if (resolved.keys.from !== 'given') throw new Error(`keys come from ${resolved.keys.from}`)
  return { signs: resolved.keys.private !== undefined, checks: resolved.keys.public.length }
}

/** Without these, tokens that the issuer made for other applications would be accepted. */
const named = { issuer: 'https://id.example.org', audience: 'shop' }

describe('resolveAuthOptions', () => {
  it('returns the defaults for empty options, frozen', () => {
    const { resolved, problems } = resolve()
    expect(problems).toEqual([])
    expect(resolved).toEqual({
      apiKey: undefined,
      closed: false,
      formToken: false,
      cookie: false,
      renew: undefined,
      rotate: 'half-life',
      issuer: undefined,
      audience: undefined,
      expiresIn: 3600,
      keys: { from: 'folder', folder },
      source: { scheme: undefined },
    })
    expect(Object.isFrozen(resolved)).toBe(true)
  })

  it('keeps the given options, and does not change the object', () => {
    const options = Object.freeze({
      formToken: true,
      rotate: 'never' as const,
      issuer: 'shop',
      audience: ['web', 'app'],
      expiresIn: '15m',
      keys: false as const,
    })
    const { resolved, problems } = resolve(options, { NODE_ENV: 'production' })
    expect(problems).toEqual([])
    expect(resolved).toMatchObject({ ...options, expiresIn: 900, keys: { from: 'none' } })
  })

  it.each([
    {
      option: { rotat: 'never' },
      code: 'UNKNOWN_OPTION',
      says: 'unknown option "rotat".',
      remedy: 'Did you mean "rotate"?',
    },
    {
      option: { keys: { privat: 'x' } },
      code: 'UNKNOWN_OPTION',
      says: 'unknown option "privat".',
      remedy: 'Did you mean "private"?',
    },
    {
      option: { rotate: 'halflife' },
      code: 'INVALID_OPTION',
      says: 'rotate is "halflife".',
      remedy: 'Did you mean "half-life"?',
    },
    {
      option: { rotation: { grace: 'soon' } },
      code: 'INVALID_OPTION',
      says: 'bootstrap auth.rotation: grace is "soon".',
      remedy: '30s',
    },
    {
      option: { rotation: { grace: '30s', reuse: 'stop' } },
      code: 'INVALID_OPTION',
      says: 'bootstrap auth.rotation: reuse is "stop".',
      remedy: "'end'",
    },
    {
      option: { rotation: { grace: '30s', reus: 'end' } },
      code: 'UNKNOWN_OPTION',
      says: 'unknown option "reus"',
      remedy: 'Did you mean "reuse"?',
    },
    {
      option: { rotation: true },
      code: 'INVALID_OPTION',
      says: 'rotation is true',
      remedy: 'grace',
    },
    {
      option: { formToken: 'yes' },
      code: 'INVALID_OPTION',
      says: 'formToken is "yes".',
      remedy: 'Write true or false.',
    },
    { option: { issuer: '' }, code: 'INVALID_OPTION', says: 'issuer is ""', remedy: '"iss"' },
    {
      option: { audience: [] },
      code: 'INVALID_OPTION',
      says: 'audience is [].',
      remedy: '"aud"',
    },
    {
      option: { audience: ['a', 7] },
      code: 'INVALID_OPTION',
      says: 'audience is ["a",7].',
      remedy: '"aud"',
    },
    {
      option: { expiresIn: 'soon' },
      code: 'INVALID_OPTION',
      says: 'expiresIn is "soon".',
      remedy: '15m',
    },
    {
      option: { ...named, jwks: 'file:///etc/keys' },
      code: 'AUTH_KEYS',
      says: 'auth.jwks is not an http',
      remedy: 'key set',
    },
    {
      option: { ...named, jwks: 'keys' },
      code: 'AUTH_KEYS',
      says: 'auth.jwks is not an http',
      remedy: 'key set',
    },
  ])('refuses $option', ({ option, code, says, remedy }) => {
    const { problems } = resolve(option as AuthOptions)
    expect(problems).toHaveLength(1)
    expect(problems[0]?.code).toBe(code)
    expect(problems[0]?.message).toContain(says)
    expect(problems[0]?.remedy).toContain(remedy)
  })

  it.each([
    { value: undefined, key: undefined },
    { value: '', key: undefined },
    { value: '  \n', key: undefined },
    { value: ' abc \n', key: 'abc' },
  ])('reads APP_API_KEY $value as $key', ({ value, key }) => {
    const { resolved, problems } = resolve({}, { APP_API_KEY: value })
    expect(problems).toEqual([])
    expect(resolved.apiKey).toBe(key)
  })

  it.each(['two words', 'schlüssel', 'a\tb', 'a\0b'])(
    'refuses APP_API_KEY %j, without quoting it',
    (value) => {
      const { resolved, problems } = resolve({}, { APP_API_KEY: value })
      expect(resolved.apiKey).toBeUndefined()
      expect(problems).toHaveLength(1)
      expect(problems[0]?.code).toBe('INVALID_ENVIRONMENT')
      expect(problems[0]?.message).toMatch(/^APP_API_KEY has blanks or characters/)
      expect(JSON.stringify(problems)).not.toContain(value)
    },
  )
})

describe('keys from the environment', () => {
  it('are PEM text, on one or several lines, or a path', () => {
    const oneLine = pair.privatePem.replaceAll('\n', '\\n')
    const path = toFile('private.pem', pair.privatePem)
    for (const text of [pair.privatePem, oneLine, path, ` ${path}\n`]) {
      expect(counts({}, { APP_PRIVATE_KEY: text })).toEqual({ signs: true, checks: 1 })
    }
  })

  it('only verify where only the public key is set', () => {
    expect(counts({}, { APP_PUBLIC_KEY: pair.publicPem })).toEqual({ signs: false, checks: 1 })
  })

  it('may include older public keys after the current one', () => {
    const bothKeys = { APP_PRIVATE_KEY: pair.privatePem, APP_PUBLIC_KEY: pair.publicPem }
    expect(counts({}, bothKeys)).toEqual({ signs: true, checks: 1 })
    const older = toFile('public.pem', pair.publicPem + other.publicPem)
    expect(counts({}, { ...bothKeys, APP_PUBLIC_KEY: older })).toEqual({ signs: true, checks: 2 })
  })

  it('are unset when empty', () => {
    const { resolved } = resolve({}, { APP_PRIVATE_KEY: '', APP_PUBLIC_KEY: ' \n' })
    expect(resolved.keys.from).toBe('folder')
  })

  it('are overridden by the options', () => {
    const environment = { APP_PRIVATE_KEY: other.privatePem, APP_PUBLIC_KEY: other.publicPem }
    const { resolved } = resolve(
      {
        keys: {
          private: pair.privatePem,
          public: { current: pair.publicPem, old: other.publicPem },
        },
      },
      environment,
    )
    expect(resolved.keys).toMatchObject({
      from: 'given',
      private: { kid: 'current' },
      public: [{ kid: 'current' }, { kid: 'old' }],
    })
  })

  const encrypted = (): string =>
    generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
      cipher: 'aes-256-cbc',
      passphrase: 'x',
    }) as string
  const elliptic = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const pss = () => generateKeyPairSync('rsa-pss', { modulusLength: 2048 })

  it.each<{ problem: string; environment: () => AuthEnvironment; says: string }>([
    {
      problem: 'a path to nothing',
      environment: () => ({ APP_PRIVATE_KEY: '/nowhere/key.pem' }),
      says: 'APP_PRIVATE_KEY is neither PEM text nor the path of a readable file (ENOENT).',
    },
    {
      problem: 'a key without its first line',
      environment: () => ({ APP_PRIVATE_KEY: pair.privatePem.split('\n').slice(1).join('\n') }),
      says: 'APP_PRIVATE_KEY is neither PEM text nor the path',
    },
    {
      problem: 'a key cut short',
      environment: () => ({ APP_PRIVATE_KEY: pair.privatePem.slice(0, 300) }),
      says: 'APP_PRIVATE_KEY is not a private key in PEM form.',
    },
    {
      problem: 'a public key as the private one',
      environment: () => ({ APP_PRIVATE_KEY: pair.publicPem }),
      says: 'APP_PRIVATE_KEY is not a private key in PEM form.',
    },
    {
      problem: 'an encrypted key',
      environment: () => ({ APP_PRIVATE_KEY: encrypted() }),
      says: 'APP_PRIVATE_KEY is encrypted with a passphrase.',
    },
    {
      problem: 'an elliptic key',
      environment: () => ({
        APP_PRIVATE_KEY: elliptic().privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
      }),
      says: 'APP_PRIVATE_KEY is not an RSA key, which RS256 requires.',
    },
    {
      problem: 'an RSA-PSS key',
      environment: () => ({
        APP_PUBLIC_KEY: pss().publicKey.export({ type: 'spki', format: 'pem' }) as string,
      }),
      says: 'APP_PUBLIC_KEY is not an RSA key, which RS256 requires.',
    },
    {
      problem: 'a short key',
      environment: () => ({ APP_PRIVATE_KEY: makePair(1024).privatePem }),
      says: 'APP_PRIVATE_KEY has fewer than 2048 bits.',
    },
    {
      problem: 'a private key as the public one',
      environment: () => ({ APP_PUBLIC_KEY: pair.privatePem }),
      says: 'APP_PUBLIC_KEY contains a private key in place of a public key.',
    },
    {
      problem: 'text that is not a key',
      environment: () => ({
        APP_PUBLIC_KEY: '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----',
      }),
      says: 'APP_PUBLIC_KEY is not a public key in PEM form.',
    },
    {
      problem: 'two keys that do not belong together',
      environment: () => ({ APP_PRIVATE_KEY: pair.privatePem, APP_PUBLIC_KEY: other.publicPem }),
      says: 'APP_PUBLIC_KEY is not the public key of APP_PRIVATE_KEY.',
    },
  ])('refuses $problem, without quoting it', ({ environment, says }) => {
    const variables = environment()
    const { resolved, problems } = resolve({}, variables)
    expect(problems).toHaveLength(1)
    expect(problems[0]?.code).toBe('AUTH_KEYS')
    expect(problems[0]?.message).toContain(says)
    expect(problems[0]?.remedy).not.toBe('')
    expect(resolved.keys.from).toBe('none')
    const secret = (variables.APP_PRIVATE_KEY ?? variables.APP_PUBLIC_KEY ?? '').slice(-60, -30)
    if (secret.length === 30) expect(JSON.stringify(problems)).not.toContain(secret)
  })

  it('reports every invalid key of several', () => {
    const { problems } = resolve({
      keys: { private: 'x', public: ['y', pair.publicPem, 7 as never] },
    })
    expect(problems.map(({ message }) => message.split(' ')[0])).toEqual([
      'auth.keys.private',
      'auth.keys.public[0]',
      'auth.keys.public[2]',
    ])
  })

  it('cannot be combined with a key set address', () => {
    const { problems } = resolve(
      { ...named, jwks: 'https://id.example.org/certs' },
      { APP_PUBLIC_KEY: pair.publicPem },
    )
    expect(problems[0]).toMatchObject({
      code: 'AUTH_KEYS',
      message: 'bootstrap: auth.jwks and APP_PUBLIC_KEY cannot be combined.',
    })
  })
})

describe('a key set address', () => {
  it.each([{}, { issuer: named.issuer }, { audience: named.audience }])(
    'does not start with %j alone',
    (option) => {
      const { problems } = resolve({ jwks: 'https://id.example.org/certs', ...option })
      expect(problems).toMatchObject([{ code: 'INVALID_OPTION' }])
      expect(problems[0]?.message).toContain('jwks requires issuer and audience')
    },
  )
})

describe('production', () => {
  const environment = { NODE_ENV: 'production' }

  it('refuses to start without keys, and explains how to create them', () => {
    const { problems } = resolve({}, environment)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatchObject({
      code: 'AUTH_KEYS',
      message: 'Production has no keys to verify tokens.',
    })
    expect(problems[0]?.remedy).toContain('openssl genpkey -algorithm RSA')
    expect(problems[0]?.remedy).toContain('APP_PRIVATE_KEY')
  })

  it('ignores the key pair of development', () => {
    const keyFolder = mkdtempSync(join(folder, 'made-'))
    writeFileSync(join(keyFolder, 'private-key.pem'), pair.privatePem)
    expect(resolve({ keys: { folder: keyFolder } }, environment).problems).toHaveLength(1)
    expect(resolve({ keys: { folder: keyFolder } }).problems).toEqual([])
  })

  it('starts with a key, with a key set, or without tokens', () => {
    const withKey = resolve({}, { ...environment, APP_PUBLIC_KEY: pair.publicPem })
    const withSet = resolve({ ...named, jwks: 'https://id.example.org/certs' }, environment)
    const without = resolve({ keys: false }, environment)
    for (const { problems } of [withKey, withSet, without]) expect(problems).toEqual([])
    expect(withSet.resolved.keys).toEqual({ from: 'jwks', url: 'https://id.example.org/certs' })
  })
})

describe('the development key folder', () => {
  it('is refused when its file is not a key', () => {
    const keyFolder = mkdtempSync(join(folder, 'made-'))
    writeFileSync(join(keyFolder, 'private-key.pem'), 'nonsense')
    const { problems } = resolve({ keys: { folder: keyFolder } })
    expect(problems[0]?.message).toContain('private-key.pem is not a private key in PEM form.')
    expect(problems[0]?.remedy).toContain('Delete it')
  })
})
