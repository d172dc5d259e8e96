/** The page and its files: they hold no data, so they are public. Source: specification, Admin page 11; CSP 3. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import {
  entityTag,
  html,
  HttpError,
  matchesEntityTag,
  reply,
  type HttpRequest,
  type Reply,
} from '../../index.js'

const policy = [
  ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"],
  ...["img-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"],
].join('; ')

/** @param base the page's path with all that stands before it */
export function showPage(base: string): Reply<string> {
  const at = escape(base)
  const text = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><title>Admin</title><link rel="stylesheet" href="${at}/assets/admin.css"><script type="module" src="${at}/assets/admin.js"></script></head>
<body data-path="${at}"><noscript>This page needs JavaScript.</noscript></body></html>
`
  return (
    html(text)
      .header('Content-Security-Policy', policy)
      .header('X-Frame-Options', 'DENY')
      .header('X-Content-Type-Options', 'nosniff')
      .header('Referrer-Policy', 'no-referrer')
      // Else the browser would bring back what it showed before a sign-out.
      .header('Cache-Control', 'no-store')
  )
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

const types = {
  'admin.js': 'text/javascript; charset=utf-8',
  'admin.css': 'text/css; charset=utf-8',
} as const

type AssetName = keyof typeof types

interface Asset {
  readonly text: string
  readonly tag: string
}

export class Assets {
  #files: Promise<ReadonlyMap<string, Asset>> | undefined

  /** @throws {HttpError} 404 for other names */
  async show(name: string, { headers }: HttpRequest): Promise<Reply> {
    const asset = Object.hasOwn(types, name) ? (await this.#all()).get(name) : undefined
    if (asset === undefined) throw new HttpError(404)
    const { text, tag } = asset
    const known = matchesEntityTag(headers['if-none-match'], tag)
    const answer = known ? reply(null, 304) : reply(text).type(types[name as AssetName])
    return answer
      .header('ETag', tag)
      .header('Cache-Control', 'no-cache')
      .header('X-Content-Type-Options', 'nosniff')
  }

  #all(): Promise<ReadonlyMap<string, Asset>> {
    this.#files ??= readFiles().catch((error: unknown) => {
      this.#files = undefined
      throw error
    })
    return this.#files
  }
}

async function readFiles(): Promise<ReadonlyMap<string, Asset>> {
  const source = fileURLToPath(new URL('../../../client/admin/build.mjs', import.meta.url))
  if (!import.meta.url.endsWith('.ts') || !existsSync(source)) {
    return readFolder(fileURLToPath(new URL('../admin/', import.meta.url)))
  }
  const folder = await mkdtemp(join(tmpdir(), 'filigree-admin-'))
  try {
    // In a process of its own, because bundlers do not run inside a test's realm.
    await promisify(execFile)(process.execPath, [source, folder])
    return await readFolder(folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function readFolder(folder: string): Promise<ReadonlyMap<string, Asset>> {
  const files = Object.keys(types).map(async (name): Promise<[string, Asset]> => {
    const text = await readFile(join(folder, name), 'utf8')
    return [name, { text, tag: entityTag(text) }]
  })
  return new Map(await Promise.all(files))
}
