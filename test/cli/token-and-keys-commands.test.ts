import { spawnSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { open, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from '@jest/globals'
import { Auth, bootstrap } from 'filigree'
import { root } from '../openapi/command.js'
import { AppModule } from './desk.js'
import { useFolder } from './run-in.js'

const desk = join(root, 'test/cli/desk.ts')
const place = useFolder()
const { run } = place

describe('filigree token', () => {
  it('creates a token that the application accepts', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
    const before = process.env.APP_PRIVATE_KEY
    process.env.APP_PRIVATE_KEY = key
    try {
      const claims = ['--claims', '{"sub":"7","roles":["admin"]}']
      const command = ['token', ...claims, '--for', '5m', '--module', desk]
      const { code, out, err } = await run(...command)
      expect({ code, err }).toEqual({ code: 0, err: '' })
      const options = { listen: false, logger: false, database: 'sqlite::memory:' }
      await using app = await bootstrap(AppModule, options)
      expect(await app.get(Auth).verify(out.trim())).toMatchObject({ sub: '7', roles: ['admin'] })
      const output = await run(...command, '--json')
      const { claims: tokenClaims } = JSON.parse(output.out) as {
        claims: { iat: number; exp: number }
      }
      expect(tokenClaims.exp - tokenClaims.iat).toBe(300)
    } finally {
      if (before === undefined) delete process.env.APP_PRIVATE_KEY
      else process.env.APP_PRIVATE_KEY = before
    }
  })

  it.each([
    [[], 'the claims are missing'],
    [['--claims', '[1]'], '--claims is not a JSON object'],
    [['--claims', '{}', '--for', 'soon'], '--for soon is not a time'],
  ])('refuses %j', async (args, message) => {
    const { code, out, err } = await run('token', ...args, '--module', desk)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(message)
  })
})

describe('filigree keys', () => {
  it('prints lines for an environment file', async () => {
    const { code, out } = await run('keys')
    expect(code).toBe(0)
    const lines = out.trim().split('\n')
    expect(lines.map((line) => line.split('=')[0])).toEqual([
      'APP_PRIVATE_KEY',
      'APP_PUBLIC_KEY',
      'APP_API_KEY',
    ])
    const env = Object.fromEntries(
      lines.map((line) => [line.split('=')[0], JSON.parse(line.slice(line.indexOf('=') + 1))]),
    ) as Record<string, string>
    const options = { listen: false, logger: false, database: 'sqlite::memory:', env }
    await using app = await bootstrap(AppModule, options)
    const auth = app.get(Auth)
    expect(await auth.verify(await auth.getToken({ sub: '7' }))).toMatchObject({ sub: '7' })
    expect(
      (await app.inject({ url: '/items/report', token: env['APP_API_KEY'] ?? '' })).status,
    ).toBe(200)
  })

  it('makes a file readable for its owner only if the output is redirected to it', async () => {
    const file = join(place.folder, 'production.env')
    const output = await open(file, 'w', 0o644)
    const program = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
    const { status } = spawnSync(process.execPath, ['--import', 'tsx', program, 'keys'], {
      stdio: ['ignore', output.fd, 'inherit'],
      env: { ...process.env, TSX_TSCONFIG_PATH: 'test/tsconfig.json' },
    })
    await output.close()
    expect(status).toBe(0)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await readFile(file, 'utf8')).toMatch(/^APP_PRIVATE_KEY=/)
  })

  it('writes files that only the owner can read, and replaces none', async () => {
    expect((await run('keys', '--out', 'keys')).code).toBe(0)
    const file = join(place.folder, 'keys/private-key.pem')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await readFile(join(place.folder, 'keys/.gitignore'), 'utf8')).toBe('*\n')
    const before = await readFile(file, 'utf8')
    const again = await run('keys', '--out', 'keys')
    expect(again).toMatchObject({ code: 2, out: '' })
    expect(again.err).toContain('private-key.pem exists')
    expect(await readFile(file, 'utf8')).toBe(before)
  })
})
