/** The content encodings, and which of them a client prefers. Source: RFC 9110 §8.4.1 and §12.5.3; RFC 8878 (zstd). */
import type { Transform } from 'node:stream'
import { promisify } from 'node:util'
import * as zlib from 'node:zlib'

export type Encoding = 'br' | 'zstd' | 'gzip'

interface Encoder {
  /** Compresses complete content in a thread. */
  readonly compressAll: (content: string | Uint8Array) => Promise<Buffer>
  /** @param flushEachChunk true: each chunk is sent immediately, because the time of the next one is unknown */
  readonly createStream: (flushEachChunk: boolean) => Transform
}

/** Functions of newer runtimes that older types do not declare. */
interface Zstd {
  readonly zstdCompress?: (
    content: Uint8Array,
    options: object,
    done: (error: Error | null, packed: Buffer) => void,
  ) => void
  readonly createZstdCompress?: (options: object) => Transform
  readonly constants: Readonly<Record<string, number>>
}

const { constants } = zlib
const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }

const encoders: Readonly<Partial<Record<Encoding, Encoder>>> = {
  br: {
    compressAll: (content) => promisify(zlib.brotliCompress)(content, brotli),
    createStream: (flushEachChunk) =>
      zlib.createBrotliCompress({
        ...brotli,
        ...(flushEachChunk ? { flush: constants.BROTLI_OPERATION_FLUSH } : {}),
      }),
  },
  ...readZstd(zlib),
  gzip: {
    compressAll: (content) => promisify(zlib.gzip)(content),
    createStream: (flushEachChunk) =>
      zlib.createGzip(flushEachChunk ? { flush: constants.Z_SYNC_FLUSH } : {}),
  },
}

/** The encodings that this runtime supports, the best first. */
export const encodings = Object.keys(encoders) as readonly Encoding[]

export function encoderOf(encoding: Encoding): Encoder | undefined {
  return encoders[encoding]
}

function readZstd({ zstdCompress, createZstdCompress, constants: names }: Zstd): {
  readonly zstd?: Encoder
} {
  if (zstdCompress === undefined || createZstdCompress === undefined) return {}
  const compressAll = (content: string | Uint8Array): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      zstdCompress(Buffer.from(content), {}, (error, packed) => {
        // Bun calls back with undefined in place of null.
        if (error instanceof Error) reject(error)
        else resolve(packed)
      })
    })
  const createStream = (flushEachChunk: boolean): Transform =>
    createZstdCompress(flushEachChunk ? { flush: names.ZSTD_e_flush } : {})
  return { zstd: { compressAll, createStream } }
}

export interface EncodingChoice {
  /** `undefined`: the content is sent uncompressed. */
  readonly encoding: Encoding | undefined
  /** True if the client does not accept uncompressed content. */
  readonly isRequired: boolean
}

const uncompressed: EncodingChoice = { encoding: undefined, isRequired: false }

/**
 * The client's preferred encoding by its weights; among equals the first of `offered`.
 *
 * @param accepted `Accept-Encoding`: `gzip, br;q=0.8, *;q=0`
 */
export function chooseEncoding(
  accepted: string | undefined,
  offered: readonly Encoding[],
): EncodingChoice {
  if (accepted === undefined) return uncompressed
  const weights = readWeights(accepted)
  const wildcard = weights.get('*')
  const identity = weights.get('identity') ?? wildcard
  const weightOf = (name: string): number => weights.get(name) ?? wildcard ?? 0
  let best: Encoding | undefined
  for (const one of offered) {
    if (weightOf(one) > (best === undefined ? 0 : weightOf(best))) best = one
  }
  if (best === undefined) return uncompressed
  // A client that gives uncompressed content a higher weight prefers it.
  if ((weights.get('identity') ?? 0) > weightOf(best)) return uncompressed
  return { encoding: best, isRequired: identity === 0 }
}

function readWeights(accepted: string): Map<string, number> {
  const weights = new Map<string, number>()
  for (const part of accepted.split(',')) {
    const [, name, weight] =
      /^\s*([\w*!#$%&'+.^`|~-]+)\s*(?:;\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*)?$/i.exec(part) ?? []
    if (name === undefined) continue
    const encoding = name.toLowerCase().replace(/^x-gzip$/, 'gzip')
    weights.set(encoding, Math.min(1, Number(weight ?? 1)))
  }
  return weights
}
