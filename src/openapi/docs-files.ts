/** The files under `/swagger`. Each is made or read when it is first requested. Source: decisions, OpenAPI. */
import type { AccessRule } from '../auth/access.js'
import { pageFolder } from '../core/page-files.js'
import { HttpError } from '../errors/http-error.js'
import { file } from '../http/file-reply.js'
import { html, type Reply } from '../http/reply.js'
import type { ServerRequest } from '../http/server-request.js'
import { createCachedText, hardened } from '../http/cached-text.js'
import type { ResolvedDocs } from './docs-options.js'
import type { OpenApiDocument } from './document.js'
import { pagePolicy, pageScript, pageStyle, swaggerPage } from './swagger-page.js'
import { toYaml } from './yaml.js'

export interface DocsFile {
  /** A pattern: `/swagger/<file>`. */
  readonly path: string
  /** For documents the rule of the options; page, script and styles contain no information. */
  readonly access: AccessRule
  readonly answer: (request: ServerRequest) => Reply | Promise<Reply>
}

/** Returns the document of a version, by default of the newest. */
export interface ReadDocument {
  (version?: string): OpenApiDocument
  /** All versions; an empty list if no controller has one. */
  readonly versions: readonly string[]
}

/** @param read called when a document is first requested */
export function docsFiles(docs: ResolvedDocs, read: ReadDocument): readonly DocsFile[] {
  const { path, access, pageAccess } = docs
  const policy = pagePolicy(docs.servers)
  const json = fileByVersion(read.versions, (version) =>
    createCachedText('application/json; charset=utf-8', () => JSON.stringify(read(version))),
  )
  const yaml = fileByVersion(read.versions, (version) =>
    createCachedText('application/yaml; charset=utf-8', () => toYaml(read(version))),
  )
  const style = createCachedText('text/css; charset=utf-8', () => pageStyle)
  const script = createCachedText('text/javascript; charset=utf-8', () => pageScript)
  return [
    {
      path,
      access: pageAccess,
      answer: (request) => {
        // A relative address, so that it works behind a proxy that removes a prefix.
        const base = request.sentPath.endsWith('/')
          ? ''
          : `${path.slice(path.lastIndexOf('/') + 1)}/`
        return hardened(html(swaggerPage(base)))
          .header('Content-Security-Policy', policy)
          .header('X-Frame-Options', 'DENY')
      },
    },
    { path: `${path}/openapi.json`, access, answer: json },
    { path: `${path}/openapi.yaml`, access, answer: yaml },
    { path: `${path}/page.css`, access: pageAccess, answer: style },
    { path: `${path}/page.js`, access: pageAccess, answer: script },
    { path: `${path}/<file>`, access: pageAccess, answer: answerAsset },
  ]
}

/** `?version=2`: one file for each version, and one for requests without a version. */
function fileByVersion(
  versions: readonly string[],
  create: (version: string | undefined) => DocsFile['answer'],
): DocsFile['answer'] {
  const usual = create(undefined)
  if (versions.length === 0) return usual
  const files = new Map(versions.map((version) => [version, create(version)]))
  return (request) => {
    const { version } = request.query
    if (version === undefined) return usual(request)
    const file = typeof version === 'string' ? files.get(version) : undefined
    if (file === undefined) throw new HttpError(404, 'There is no such version.')
    return file(request)
  }
}

/** The files of the package that the page needs. */
const assets: ReadonlySet<string> = new Set([
  'swagger-ui.css',
  'swagger-ui-bundle.js',
  'favicon-32x32.png',
])

function answerAsset({ pathValues }: ServerRequest): Reply {
  const name = String(pathValues[0])
  if (!assets.has(name)) throw new HttpError(404)
  return file(name, { root: packageFolder(), inline: true })
}

let folder: string | undefined

function packageFolder(): string {
  folder ??= pageFolder({ name: 'swagger-ui', package: 'swagger-ui-dist', subfolder: '' })
  return folder
}
