/** `compress()`: compresses responses for clients that accept it. Source: RFC 9110 §8.4 and §12.5.3; BREACH (CVE-2013-3587). */
import { pipeline, Readable } from 'node:stream'
import {
  type RouteResponse,
  type HttpRequest,
  createModule,
  declareOptions,
  Operational,
  option,
  type Interceptor,
  type Next,
  type OptionsOf,
  type RouteInfo,
} from '../../index.js'
import { restoreTags, toCompressedTag } from './compressed-tags.js'
import { chooseEncoding, encoderOf, encodings, type Encoding } from './encodings.js'

const compressibleTypes =
  /^(?:text\/(?!event-stream)|application\/(?:json|javascript|xml|wasm|graphql|manifest|rtf|sql|toml|x-ndjson|x-www-form-urlencoded|yaml)\b|font\/(?:otf|ttf)|image\/(?:bmp|svg|x-icon|vnd\.microsoft\.icon)|[\w.-]+\/[\w.+-]+\+(?:json|xml|yaml|text)\b)/i

/** True if clients may get a compressed response. Then all clients get `Vary: Accept-Encoding`. */
function isCompressible(response: RouteResponse): boolean {
  const { status, headers } = response
  if (listItems(response, 'Cache-Control').includes('no-transform')) return false
  // A 304 has no content type, so the original response may have been compressed.
  if (status === 304) return true
  if (headers.get('Content-Encoding') !== undefined) return false
  // The digest is of the uncompressed bytes.
  if (headers.get('Content-Digest') !== undefined) return false
  return compressibleTypes.test(headers.get('Content-Type')?.trim() ?? '')
}

/** The items of a list header, in lower case. */
function listItems({ headers }: RouteResponse, name: string): string[] {
  return (headers.get(name) ?? '').split(',').map((word) => word.trim().toLowerCase())
}

const compressOptions = declareOptions({
  /** The smallest response that is compressed, in bytes. Default 1,024. */
  min: option.integer(0, undefined, 'Give whole bytes, such as 1024.').default(1024),
  /** The encodings, in order of preference. Default: `br`, `zstd` if the runtime has it, `gzip`. */
  encodings: option
    .list(option.oneOf('br', 'zstd', 'gzip'), "Choose from 'br', 'zstd' and 'gzip'.")
    .default(encodings),
  /**
   * Also compresses responses to callers with cookies. An attacker who can make a browser send requests, and sees the length of the responses, can then guess
   * secrets in them (BREACH). Use it only if such responses contain no secrets, or repeat nothing that a client sent. Default false.
   */
  personal: option.flag().default(false),
})

export interface CompressOptions extends OptionsOf<typeof compressOptions> {}

/** Compresses the responses of the whole application. Import it before modules that need uncompressed responses. */
export const compress = createModule(function compress(options: CompressOptions = {}) {
  const { min, personal, encodings: allowed } = compressOptions.read(options)
  const offered = allowed.filter((name) => encodings.includes(name))

  class Compressor implements Interceptor {
    static readonly before = 'gate'
    static readonly everywhere = true

    applies({ metadata }: RouteInfo): boolean {
      return metadata.get(Operational) === undefined
    }

    async intercept(request: HttpRequest, next: Next): Promise<RouteResponse> {
      const clientEncoding = restoreTags(request)
      const response = await next()
      if (!personal && isPersonal(request, response)) return response
      if (!isCompressible(response)) return response
      addVary(response)
      // A 304 keeps the tag of the response that the client has.
      if (response.status === 304) {
        if (clientEncoding !== undefined) markCompressed(response, clientEncoding)
        return response
      }
      if (response.status === 206 || response.body === null) return response
      const { encoding, isRequired } = chooseEncoding(request.headers['accept-encoding'], offered)
      if (encoding === undefined) return response
      const length = response.headers.get('Content-Length')
      if (!isRequired && length !== undefined && Number(length) < min) return response
      return await compressResponse(response, encoding, {
        hasKnownLength: length !== undefined,
        method: request.method,
      })
    }
  }
  return { problems: compressOptions.findProblems(options, 'compress'), use: [Compressor] }
})

/** Arguments that show a handler the cookies. A handler with `request` may be one of `crud`. */
const withCookies: ReadonlySet<string> = new Set(['cookies', 'headers'])

/** If a response contains a secret and text of a client, its compressed length reveals whether they match. */
function isPersonal({ route, headers }: HttpRequest, response: RouteResponse): boolean {
  const names = route?.arguments ?? []
  if (names.includes('session')) return true
  if (headers.cookie === undefined) return false
  return (
    names.some((name) => withCookies.has(name)) || listItems(response, 'Vary').includes('cookie')
  )
}

function addVary(response: RouteResponse): void {
  const varyNames = listItems(response, 'Vary')
  if (!varyNames.includes('*') && !varyNames.includes('accept-encoding')) {
    response.headers.append('Vary', 'Accept-Encoding')
  }
}

interface CompressionOptions {
  /** True if the length of the content is known. */
  readonly hasKnownLength: boolean
  readonly method: string
}

async function compressResponse(
  response: RouteResponse,
  encoding: Encoding,
  options: CompressionOptions,
): Promise<RouteResponse> {
  const body = await compressBody(response.body, encoding, options)
  if (body === undefined) return response
  const compressed = response.withBody(body)
  compressed.headers.set('Content-Encoding', encoding)
  // Ranges refer to the uncompressed content.
  compressed.headers.delete('Accept-Ranges')
  markCompressed(compressed, encoding)
  return compressed
}

function markCompressed({ headers }: RouteResponse, encoding: string): void {
  const tag = headers.get('ETag')
  if (tag !== undefined) headers.set('ETag', toCompressedTag(tag, encoding))
}

/** @returns undefined if the body cannot be compressed */
async function compressBody(
  body: unknown,
  encoding: Encoding,
  { hasKnownLength, method }: CompressionOptions,
): Promise<unknown> {
  const encoder = encoderOf(encoding)
  if (encoder === undefined) return undefined
  if (typeof body === 'string' || body instanceof Uint8Array) return encoder.compressAll(body)
  const stream = toReadable(body)
  if (stream === undefined) return undefined
  // HEAD sends only headers, so a compressed stream would not be read.
  if (method === 'HEAD') return body
  const compressor = encoder.createStream(!hasKnownLength)
  pipeline(stream, compressor, () => undefined)
  return compressor
}

function toReadable(body: unknown): Readable | undefined {
  if (body instanceof Readable) return body
  if (typeof body !== 'object' || body === null) return undefined
  if (body instanceof Blob) return Readable.from(body.stream())
  const isIterable = Symbol.asyncIterator in body || Symbol.iterator in body
  return isIterable ? Readable.from(body as AsyncIterable<unknown>) : undefined
}
