/** The encodings of contents, and which of them a client wants. Source: RFC 9110 §8.4.1 and §12.5.3; RFC 8878 (zstd). */
import type { Transform } from 'node:stream'
import { promisify } from 'node:util'
import * as zlib from 'node:zlib'

export type Encoding = 'br' | 'zstd' | 'gzip'

interface Encoder {
  /** Packs a whole text, beside the thread that answers. */
  readonly whole: (content: string | Uint8Array) => Promise<Buffer>
  /** @param flows each chunk is to go out as it comes, since nobody knows when the next one does */
  readonly stream: (flows: boolean) => Transform
}

/** What newer runtimes have and older types do not know. */
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
    whole: (content) => promisify(zlib.brotliCompress)(content, brotli),
    stream: (flows) =>
      zlib.createBrotliCompress({
        ...brotli,
        ...(flows ? { flush: constants.BROTLI_OPERATION_FLUSH } : {}),
      }),
  },
  ...readZstd(zlib),
  gzip: {
    whole: (content) => promisify(zlib.gzip)(content),
    stream: (flows) => zlib.createGzip(flows ? { flush: constants.Z_SYNC_FLUSH } : {}),
  },
}

/** Those of this runtime, the best first. */
export const encodings = Object.keys(encoders) as readonly Encoding[]

export function encoderOf(encoding: Encoding): Encoder | undefined {
  return encoders[encoding]
}

function readZstd({ zstdCompress, createZstdCompress, constants: names }: Zstd): {
  readonly zstd?: Encoder
} {
  if (zstdCompress === undefined || createZstdCompress === undefined) return {}
  const whole = (content: string | Uint8Array): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      zstdCompress(Buffer.from(content), {}, (error, packed) => {
        if (error === null) resolve(packed)
        else reject(error)
      })
    })
  const stream = (flows: boolean): Transform =>
    createZstdCompress(flows ? { flush: names.ZSTD_e_flush } : {})
  return { zstd: { whole, stream } }
}

export interface Wish {
  /** `undefined` sends the content as it is. */
  readonly encoding: Encoding | undefined
  /** The client takes nothing that is not encoded. */
  readonly always: boolean
}

const plain: Wish = { encoding: undefined, always: false }

/**
 * What a client wants, by the weights that it gives; among equals the first of `offered`.
 *
 * @param accepted `Accept-Encoding`: `gzip, br;q=0.8, *;q=0`
 */
export function chooseEncoding(accepted: string | undefined, offered: readonly Encoding[]): Wish {
  if (accepted === undefined) return plain
  const weights = readWeights(accepted)
  const others = weights.get('*')
  const identity = weights.get('identity') ?? others
  const weightOf = (name: string): number => weights.get(name) ?? others ?? 0
  let best: Encoding | undefined
  for (const one of offered) {
    if (weightOf(one) > (best === undefined ? 0 : weightOf(best))) best = one
  }
  if (best === undefined) return plain
  // Who names plain content with a higher weight wants that.
  if ((weights.get('identity') ?? 0) > weightOf(best)) return plain
  return { encoding: best, always: identity === 0 }
}

function readWeights(accepted: string): Map<string, number> {
  const weights = new Map<string, number>()
  for (const part of accepted.split(',')) {
    const [, name, weight] =
      /^\s*([\w*!#$%&'+.^`|~-]+)\s*(?:;\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*)?$/i.exec(part) ?? []
    if (name === undefined) continue
    const known = name.toLowerCase().replace(/^x-gzip$/, 'gzip')
    weights.set(known, Math.min(1, Number(weight ?? 1)))
  }
  return weights
}
