/** Reads a `Content-Type`. Source: RFC 9110 §8.3.1. */

export interface MediaType {
  /** `type/subtype` in lower case. */
  readonly essence: string
  /** By lower-case name, quotes and escapes removed. Has no prototype. */
  readonly parameters: Readonly<Record<string, string>>
}

const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const essencePattern = new RegExp(`[\\t ]*(${token}/${token})[\\t ]*`, 'y')
// RFC 9110 allows a semicolon without a parameter.
const parameterPattern = new RegExp(
  `;[\\t ]*(?:(${token})=(?:(${token})|"((?:[^"\\\\]|\\\\.)*)"))?[\\t ]*`,
  'y',
)

/** @returns `undefined` if the text is not a media type, a parameter is malformed, or one occurs twice */
export function readMediaType(text: string): MediaType | undefined {
  essencePattern.lastIndex = 0
  const essence = essencePattern.exec(text)?.[1]
  if (essence === undefined) return undefined
  const parameters = Object.create(null) as Record<string, string>
  let position = essencePattern.lastIndex
  while (position < text.length) {
    parameterPattern.lastIndex = position
    const match = parameterPattern.exec(text)
    if (match === null) return undefined
    position = parameterPattern.lastIndex
    const name = match[1]?.toLowerCase()
    if (name === undefined) continue
    if (name in parameters) return undefined
    parameters[name] = match[2] ?? match[3]?.replace(/\\(.)/g, '$1') ?? ''
  }
  return { essence: essence.toLowerCase(), parameters }
}
