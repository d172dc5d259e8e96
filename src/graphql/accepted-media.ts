/** The media types that a GraphQL client accepts. Source: GraphQL over HTTP, "Media types". */
import { readMediaRanges } from '../http/accept.js'

/** The media types that a client accepts. */
export interface AcceptedMedia {
  /** The type of a single result: `json` is `application/json`, `response` is `application/graphql-response+json`. */
  readonly result: 'json' | 'response' | undefined
  /** Whether the client accepts `text/event-stream`, which subscriptions and live queries need. */
  readonly stream: boolean
}

/** The values of `Content-Type`. */
export const resultTypes = {
  json: 'application/json; charset=utf-8',
  response: 'application/graphql-response+json; charset=utf-8',
} as const

const anyMedia: AcceptedMedia = Object.freeze({ result: 'json', stream: false })
const jsonTypes: ReadonlySet<string> = new Set(['application/json', 'application/*', '*/*'])

/** Results by header. Clients send few different headers, each very often. */
const cachedMedia = new Map<string, AcceptedMedia>()
const maxCachedMedia = 100

/**
 * Reads `Accept`. `application/graphql-response+json` wins if its weight is at least the weight of JSON.
 *
 * @param accept `undefined` accepts every type
 */
export function acceptedMedia(accept: string | undefined): AcceptedMedia {
  if (accept === undefined || accept === '*/*') return anyMedia
  const cached = cachedMedia.get(accept)
  if (cached !== undefined) return cached
  const media = readAccept(accept)
  if (cachedMedia.size < maxCachedMedia) cachedMedia.set(accept, media)
  return media
}

function readAccept(accept: string): AcceptedMedia {
  const weights = { json: 0, response: 0, stream: 0 }
  for (const { type, parameters } of readMediaRanges(accept)) {
    const kind = mediaKindOf(type)
    if (kind !== undefined && acceptsUtf8(parameters)) {
      weights[kind] = Math.max(weights[kind], readWeight(parameters))
    }
  }
  const prefersResponse = weights.response > 0 && weights.response >= weights.json
  const result = prefersResponse ? 'response' : weights.json > 0 ? 'json' : undefined
  return Object.freeze({ result, stream: weights.stream > 0 })
}

function mediaKindOf(type: string): 'json' | 'response' | 'stream' | undefined {
  if (type === 'application/graphql-response+json') return 'response'
  if (type === 'text/event-stream') return 'stream'
  return jsonTypes.has(type) ? 'json' : undefined
}

function acceptsUtf8(parameters: readonly string[]): boolean {
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))
  return charset === undefined || /^charset="?utf-?8"?$/.test(charset)
}

function readWeight(parameters: readonly string[]): number {
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
  if (weight === undefined) return 1
  return /^(?:0(?:\.\d*)?|1(?:\.0*)?)$/.test(weight) ? Number(weight) : 0
}
