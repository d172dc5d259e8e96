/**
 * `filigree doctor --production` of the package as it is built: the bundler renames functions and classes, by which the
 * list knows what is imported.
 */
import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { root } from '../repository/source-files.js'

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'filigree-doctor-'))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules/filigree'))
})
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

/** @returns the state of each line of the list */
function examine(imports: string, options: string): Promise<{ [about: string]: string }> {
  writeFileSync(
    join(folder, 'main.mjs'),
    `import { bootstrap, Controller, Get, Module } from 'filigree'
import { accessLog } from 'filigree/access-log'
import { health } from 'filigree/health'
import { metrics } from 'filigree/metrics'
import { securityHeaders } from 'filigree/security-headers'
import { throttle } from 'filigree/throttle'
class Application {}
Module({ imports: [${imports}] })(Application)
await bootstrap(Application, { database: 'sqlite:./app.db', static: { '/': '.' }, ${options} })
`,
  )
  const keys = { type: 'pkcs8', format: 'pem' } as const
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const env = {
    PATH: process.env['PATH'] ?? '',
    NODE_ENV: 'production',
    DATABASE_URL: 'postgres://desk@db.example/desk',
    APP_PRIVATE_KEY: privateKey.export(keys).toString(),
  }
  const args = [join(root, 'dist/server/cli.js'), 'doctor', '--production', '--json']
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [...args, '--module', 'main.mjs'],
      { cwd: folder, env },
      (_, out, err) => {
        try {
          const findings = JSON.parse(out) as { about: string; state: string }[]
          resolve(Object.fromEntries(findings.map(({ about, state }) => [about, state])))
        } catch {
          reject(new Error(`${out}${err}`))
        }
      },
    )
  })
}

const modules = ['health', 'metrics', 'accessLog', 'throttle', 'securityHeaders']

it('recognises imported modules', async () => {
  const found = await examine(
    `health(), metrics({ secured: 'operator' }), accessLog(), securityHeaders(),
     throttle({ limit: '100/m', store: 'database' })`,
    'trustProxy: 1, docs: { secured: true }',
  )
  expect(modules.map((name) => [name, found[name]])).toEqual(modules.map((name) => [name, 'ok']))
})

it('lists missing modules, and modules with unsafe options', async () => {
  const found = await examine(`metrics(), throttle({ limit: '100/m' })`, 'trustProxy: 1')
  expect(modules.map((name) => [name, found[name]])).toEqual(modules.map((name) => [name, 'fault']))
})
