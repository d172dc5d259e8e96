/** `filigree keys`: creates the keys that an application needs in production. */
import { generateKeyPair, randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { promisify } from 'node:util'
import { defineCommand, flag, option, type Terminal, UsageError } from '../command.js'
import { toJson } from '../output.js'

export const keysCommand = defineCommand({
  group: 'Generate',
  usage: 'filigree keys',
  summary: 'creates keys for production',
  description: `Creates an RSA key pair for tokens (APP_PRIVATE_KEY, APP_PUBLIC_KEY) and a static key (APP_API_KEY). Without --out it prints
lines for an environment file. If the output is a file, only its owner may read it.`,
  options: {
    out: option(
      '<folder>',
      'writes private-key.pem (mode 0600) and public-key.pem there, and a .gitignore into a new folder. Existing files are not replaced',
    ),
    json: flag('prints { APP_PRIVATE_KEY, APP_PUBLIC_KEY, APP_API_KEY }'),
  },
  examples: ['filigree keys > production.env', 'filigree keys --out keys'],
  maxPositionals: 0,
  run: async ({ values }, terminal) => {
    if (values.out !== undefined && values.json)
      throw new UsageError('--out writes files and --json prints. Choose one of them.')
    const keys = await createKeys()
    if (values.out !== undefined) return await writeKeys(keys, values.out, terminal)
    terminal.protectOutput?.()
    await terminal.out(values.json ? toJson(keys) : `${toLines(keys)}\n`)
    return true
  },
})

const generate = promisify(generateKeyPair)

interface Keys {
  readonly APP_PRIVATE_KEY: string
  readonly APP_PUBLIC_KEY: string
  readonly APP_API_KEY: string
}

async function createKeys(): Promise<Keys> {
  const { privateKey, publicKey } = await generate('rsa', { modulusLength: 2048 })
  return {
    APP_PRIVATE_KEY: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    APP_PUBLIC_KEY: publicKey.export({ type: 'spki', format: 'pem' }) as string,
    APP_API_KEY: randomBytes(32).toString('hex'),
  }
}

/** Environment files have one line for each variable, so the line feeds of a PEM text are written as `\n`. */
function toLines(keys: Keys): string {
  return Object.entries(keys)
    .map(([name, value]) => `${name}="${String(value).trim().replaceAll('\n', '\\n')}"`)
    .join('\n')
}

async function writeKeys(keys: Keys, folder: string, terminal: Terminal): Promise<boolean> {
  const target = resolve(terminal.cwd, folder)
  const created = await mkdir(target, { recursive: true, mode: 0o700 })
  // An existing folder can contain files that belong into the repository.
  if (created !== undefined) await writeFile(join(target, '.gitignore'), '*\n')
  const files = [
    ['private-key.pem', keys.APP_PRIVATE_KEY, 0o600],
    ['public-key.pem', keys.APP_PUBLIC_KEY, 0o644],
  ] as const
  for (const [name, text, mode] of files) {
    const path = join(target, name)
    try {
      await writeFile(path, text, { mode, flag: 'wx' })
    } catch (error) {
      if (!isExistsError(error)) throw error
      const relativePath = relative(terminal.cwd, path)
      throw new UsageError(`${relativePath} exists. Move it first, or name another folder.`)
    }
  }
  const relativePath = relative(terminal.cwd, target)
  terminal.protectOutput?.()
  await terminal.out(
    `APP_PRIVATE_KEY=${join(relativePath, 'private-key.pem')}\nAPP_PUBLIC_KEY=${join(relativePath, 'public-key.pem')}\nAPP_API_KEY=${keys.APP_API_KEY}\n`,
  )
  return true
}

function isExistsError(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === 'EEXIST'
}
