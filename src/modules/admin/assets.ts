/** Serves the script and the styles of the page, and compresses what the page sends. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import {
  entityTag,
  HttpError,
  matchesEntityTag,
  reply,
  type HttpRequest,
  type Reply,
} from '../../index.js'
import { chooseLanguage, type PageLanguage } from './languages.js'
import type { AdminOptions } from './options.js'
import { parseColour, themeCss } from './theme.js'

const script = 'text/javascript; charset=utf-8'

/** The files that `client/admin/build.mjs` writes. The page loads `admin.js`, which loads the other scripts when they are needed. */
const builtFiles = {
  'admin.js': script,
  'bin.js': script,
  'bulk-change.js': script,
  'chart.js': script,
  'csv-import.js': script,
  'jump.js': script,
  'admin.css': 'text/css; charset=utf-8',
} as const

const mediaTypes = {
  ...builtFiles,
  'language.js': script,
  'theme.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
} as const

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path d="M16 4a12 12 0 1 1-12 12V7q0-3 3-3z" fill="none" stroke="#158291" stroke-width="6"/></svg>
`

type AssetName = keyof typeof mediaTypes

interface Asset {
  readonly text: string
  readonly packed: Buffer
  readonly tag: string
}

export class Assets {
  constructor(
    private readonly options: AdminOptions,
    private readonly languages: readonly PageLanguage[],
  ) {}

  #files: Promise<ReadonlyMap<string, Asset>> | undefined

  /** @throws {HttpError} 404 for other names */
  async show(name: string, request: HttpRequest): Promise<Reply> {
    const file = name === 'language.js' ? this.#languageFile(request) : name
    const asset = Object.hasOwn(mediaTypes, name) ? (await this.#all()).get(file) : undefined
    if (asset === undefined) throw new HttpError(404)
    const isPacked = acceptsGzip(request)
    // A strong tag identifies exactly one body.
    const tag = isPacked ? asset.tag.replace(/"$/, '-gzip"') : asset.tag
    const isCurrent = matchesEntityTag(request.headers['if-none-match'], tag)
    const response = isCurrent
      ? reply(null, 304)
      : isPacked
        ? reply(asset.packed)
            .header('Content-Encoding', 'gzip')
            .type(mediaTypes[name as AssetName])
        : reply(asset.text).type(mediaTypes[name as AssetName])
    return response
      .header('ETag', tag)
      .header('Vary', 'Accept-Encoding, Accept-Language')
      .header('Cache-Control', 'no-cache')
      .header('X-Content-Type-Options', 'nosniff')
  }

  #languageFile({ headers }: HttpRequest): string {
    return fileOf(chooseLanguage(this.languages, headers['accept-language']))
  }

  #all(): Promise<ReadonlyMap<string, Asset>> {
    this.#files ??= this.#read().catch((error: unknown) => {
      this.#files = undefined
      throw error
    })
    return this.#files
  }

  async #read(): Promise<ReadonlyMap<string, Asset>> {
    const files = new Map([...(await readFiles()), ['icon.svg', icon]])
    const colour = parseColour(this.options.colour)
    if (colour !== undefined) files.set('theme.css', themeCss(colour))
    for (const language of this.languages) files.set(fileOf(language), languageModule(language))
    const assets = [...files].map(async ([name, text]): Promise<[string, Asset]> => [
      name,
      { text, packed: await compress(text), tag: entityTag(text) },
    ])
    return new Map(await Promise.all(assets))
  }
}

const fileOf = ({ tag }: PageLanguage): string => `language.${tag}.js`

/** What the page imports as its language. Only the language of the browser is sent. */
const languageModule = ({ tag, texts }: PageLanguage): string =>
  `export const language = ${JSON.stringify(tag)}\nexport const texts = ${JSON.stringify(texts)}\n`

/** Compresses the script, the styles and the schema, which shrink to a third or less. */
export const compress = promisify(gzip)

export function acceptsGzip({ headers }: HttpRequest): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(headers['accept-encoding'] ?? '')
}

async function readFiles(): Promise<[name: string, text: string][]> {
  const source = fileURLToPath(new URL('../../../client/admin/build.mjs', import.meta.url))
  if (!import.meta.url.endsWith('.ts') || !existsSync(source)) {
    return readFolder(fileURLToPath(new URL('../admin/', import.meta.url)))
  }
  const folder = await mkdtemp(join(tmpdir(), 'filigree-admin-'))
  try {
    // Bundlers do not run inside the realm of a Jest test, so this runs in a separate process.
    await promisify(execFile)(process.execPath, [source, folder])
    return await readFolder(folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}

function readFolder(folder: string): Promise<[name: string, text: string][]> {
  return Promise.all(
    Object.keys(builtFiles).map(async (name) => [name, await readFile(join(folder, name), 'utf8')]),
  )
}
