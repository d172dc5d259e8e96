/** Packages that the application must install are checked at the start, not at their first use. */
import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from '@jest/globals'
import { bootstrap, DeclarationError } from '../../src/index.js'
import { runIn } from '../cli/run-in.js'
import { AppModule } from './fixtures/needs-sms.js'

const fixture = fileURLToPath(new URL('./fixtures/without-packages.ts', import.meta.url))
const pair = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
})
const production = {
  NODE_ENV: 'production',
  APP_PRIVATE_KEY: pair.privateKey,
  APP_PUBLIC_KEY: pair.publicKey,
}

/** Starts an application with these features on a machine that has none of the packages. */
async function startWithout(needs: string, variables: Readonly<Record<string, string>>) {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', 'tsx', fixture, needs],
    { env: { ...process.env, TSX_TSCONFIG_PATH: 'test/tsconfig.json', ...variables } },
  )
  return JSON.parse(stdout) as unknown
}

it('in production all missing packages stop the start, in one report', async () => {
  expect(await startWithout('mail,oidc,passkeys,pg', production)).toEqual({
    warnings: [],
    problems: [
      'MAIL_DRIVER_MISSING: Run: npm install nodemailer',
      'OIDC_CLIENT_MISSING: Run: npm install openid-client',
      'PASSKEYS_PACKAGE_MISSING: Run: npm install @simplewebauthn/server',
      'DATABASE_DRIVER_MISSING: Run: npm install pg',
    ],
  })
})

it('outside production a missing package is a warning at the start', async () => {
  expect(await startWithout('mail', {})).toEqual({
    warnings: [
      'MAIL_DRIVER_MISSING: mail: the package nodemailer is not installed. Run: npm install nodemailer',
    ],
  })
})

it('a package that no feature needs is not looked for', async () => {
  expect(await startWithout('', production)).toEqual({ warnings: [] })
})

it('a third-party module names the packages that it needs', async () => {
  const message = 'sms: the package no-such-package is missing.'
  const warnings: [object, string][] = []
  const silent = () => undefined
  const warn = (about: object, text: string) => void warnings.push([about, text])
  const logger = { error: silent, warn, info: silent, debug: silent }
  const options = { listen: false, logger, publicUrl: 'https://a.example' }
  const app = await bootstrap(AppModule, { ...options, env: {} })
  await app.close()
  expect(warnings).toContainEqual([{ code: 'SMS_MISSING' }, `${message} Install it.`])
  await expect(bootstrap(AppModule, { ...options, env: production })).rejects.toThrow(message)
  await expect(bootstrap(AppModule, { ...options, env: production })).rejects.toBeInstanceOf(
    DeclarationError,
  )
})

it('doctor --production finds it', async () => {
  const file = fileURLToPath(new URL('./fixtures/needs-sms.ts', import.meta.url))
  const { code, out } = await runIn('.', ['doctor', '--production', '--json', '--module', file])
  expect(code).toBe(1)
  expect(JSON.parse(out)).toContainEqual({
    about: 'settings',
    state: 'fault',
    code: 'SMS_MISSING',
    what: 'sms: the package no-such-package is missing.',
    remedy: 'Install it.',
    source: expect.objectContaining({ file: 'test/bootstrap/fixtures/needs-sms.ts', line: 4 }),
  })
})
