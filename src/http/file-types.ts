/**
 * The type of a file, detected from its first bytes. The client's type is used only to choose between types with the
 * same bytes. Source: decisions, Responses; WHATWG MIME Sniffing §5 and §7.
 */

export interface FileType {
  /** Media type without parameters. */
  readonly type: string
  /** With its dot. Never one of a type that a browser executes, except `.pdf`. */
  readonly extension: string
}

/** The number of bytes that `detectFileType` looks at. */
export const detectedBytes = 1024

/**
 * @param start the first bytes of the file
 * @param claim what the client says: a media type and a file name
 */
export function detectFileType(
  start: Uint8Array,
  claim: { readonly type: string; readonly name: string },
): FileType {
  const text = Buffer.from(start.buffer, start.byteOffset, start.length).toString('latin1')
  if (text.startsWith('%PDF-')) return { type: 'application/pdf', extension: '.pdf' }
  const found = signatures.find(({ pattern }) => pattern.test(text))
  if (found !== undefined) return choose(found.types, claim)
  return isText(text) ? detectText(text, claim) : unknownBinary
}

/** Media types that a browser executes, or opens in a viewer that executes scripts. */
export function isExecuted(mediaType: string): boolean {
  const essence = (mediaType.split(';', 1)[0] ?? '').trim().toLowerCase()
  return executed.test(essence)
}

const executed =
  /^(?:text\/(?:html|xml|xsl|(?:java|ecma|j|live)script(?:1\.\d)?|x-(?:java|ecma)script)|application\/(?:xml|pdf|(?:x-)?(?:java|ecma)script)|[^/]+\/[^/]+\+xml)$/

const plainText: FileType = { type: 'text/plain', extension: '.txt' }
const unknownBinary: FileType = { type: 'application/octet-stream', extension: '.bin' }

/** Texts without a signature, which the client may name. */
const texts: readonly FileType[] = [
  plainText,
  { type: 'text/csv', extension: '.csv' },
  { type: 'text/tab-separated-values', extension: '.tsv' },
  { type: 'text/markdown', extension: '.md' },
  { type: 'text/calendar', extension: '.ics' },
  { type: 'text/vcard', extension: '.vcf' },
  { type: 'text/vtt', extension: '.vtt' },
  { type: 'text/plain', extension: '.log' },
  { type: 'application/json', extension: '.json' },
  { type: 'application/geo+json', extension: '.geojson' },
  { type: 'application/x-ndjson', extension: '.ndjson' },
  { type: 'application/yaml', extension: '.yaml' },
  { type: 'application/yaml', extension: '.yml' },
]

const officeType = 'application/vnd.openxmlformats-officedocument'
const openType = 'application/vnd.oasis.opendocument'

/** The first entry of `types` is the default; the other ones share its signature. Patterns are of single bytes. */
const signatures: readonly { pattern: RegExp; types: readonly FileType[] }[] = [
  { pattern: /^\x89PNG\r\n\x1a\n/, types: [{ type: 'image/png', extension: '.png' }] },
  { pattern: /^\xff\xd8\xff/, types: [{ type: 'image/jpeg', extension: '.jpg' }] },
  { pattern: /^GIF8[79]a/, types: [{ type: 'image/gif', extension: '.gif' }] },
  { pattern: /^RIFF[^]{4}WEBP/, types: [{ type: 'image/webp', extension: '.webp' }] },
  { pattern: /^\0\0[^]{2}ftypavi[fs]/, types: [{ type: 'image/avif', extension: '.avif' }] },
  {
    pattern: /^\0\0[^]{2}ftyp(?:hei[cxms]|hev[cx]|mif1|msf1)/,
    types: [{ type: 'image/heic', extension: '.heic' }],
  },
  { pattern: /^(?:II\*\0|MM\0\*)/, types: [{ type: 'image/tiff', extension: '.tif' }] },
  { pattern: /^BM[^]{4}\0{4}/, types: [{ type: 'image/bmp', extension: '.bmp' }] },
  { pattern: /^\0\0\x01\0/, types: [{ type: 'image/vnd.microsoft.icon', extension: '.ico' }] },
  { pattern: /^\0\0[^]{2}ftypM4A/, types: [{ type: 'audio/mp4', extension: '.m4a' }] },
  { pattern: /^\0\0[^]{2}ftypqt/, types: [{ type: 'video/quicktime', extension: '.mov' }] },
  { pattern: /^\0\0[^]{2}ftyp/, types: [{ type: 'video/mp4', extension: '.mp4' }] },
  {
    pattern: /^\x1aE\xdf\xa3/,
    types: [
      { type: 'video/webm', extension: '.webm' },
      { type: 'video/matroska', extension: '.mkv' },
    ],
  },
  { pattern: /^RIFF[^]{4}AVI /, types: [{ type: 'video/x-msvideo', extension: '.avi' }] },
  { pattern: /^RIFF[^]{4}WAVE/, types: [{ type: 'audio/wav', extension: '.wav' }] },
  {
    pattern: /^OggS\0/,
    types: [
      { type: 'audio/ogg', extension: '.ogg' },
      { type: 'video/ogg', extension: '.ogv' },
    ],
  },
  { pattern: /^fLaC\0/, types: [{ type: 'audio/flac', extension: '.flac' }] },
  {
    pattern: /^(?:ID3[\x02-\x04]|\xff[\xfb\xf3\xf2])/,
    types: [{ type: 'audio/mpeg', extension: '.mp3' }],
  },
  {
    pattern: /^PK(?:\x03\x04|\x05\x06)/,
    types: [
      { type: 'application/zip', extension: '.zip' },
      { type: `${officeType}.wordprocessingml.document`, extension: '.docx' },
      { type: `${officeType}.spreadsheetml.sheet`, extension: '.xlsx' },
      { type: `${officeType}.presentationml.presentation`, extension: '.pptx' },
      { type: `${openType}.text`, extension: '.odt' },
      { type: `${openType}.spreadsheet`, extension: '.ods' },
      { type: `${openType}.presentation`, extension: '.odp' },
      { type: 'application/epub+zip', extension: '.epub' },
    ],
  },
  {
    pattern: /^\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1/,
    types: [
      unknownBinary,
      { type: 'application/msword', extension: '.doc' },
      { type: 'application/vnd.ms-excel', extension: '.xls' },
      { type: 'application/vnd.ms-powerpoint', extension: '.ppt' },
    ],
  },
  {
    pattern: /^\x1f\x8b/,
    types: [
      { type: 'application/gzip', extension: '.gz' },
      { type: 'application/gzip', extension: '.tgz' },
    ],
  },
  {
    pattern: /^7z\xbc\xaf\x27\x1c/,
    types: [{ type: 'application/x-7z-compressed', extension: '.7z' }],
  },
  { pattern: /^Rar!\x1a\x07/, types: [{ type: 'application/vnd.rar', extension: '.rar' }] },
]

const htmlStart =
  /^[\t\n\f\r ]*<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p|!--)[\t\n\f\r >/]/i

/** Markup keeps its type, but never an extension by which a server would send it as a page. */
function detectText(
  text: string,
  claim: { readonly type: string; readonly name: string },
): FileType {
  const start = text.replace(/^\xef\xbb\xbf/, '').trimStart()
  if (/^<(?:\?xml|svg|!doctype svg)[\t\n\f\r />]/i.test(start)) {
    const isPicture = /<svg[\t\n\f\r />]/i.test(start)
    return { type: isPicture ? 'image/svg+xml' : 'application/xml', extension: plainText.extension }
  }
  if (htmlStart.test(start)) return { type: 'text/html', extension: plainText.extension }
  if (start.startsWith('{\\rtf')) return { type: 'application/rtf', extension: '.rtf' }
  return choose(texts, claim)
}

/** The client's media type is more specific than its file name, which browsers derive the type from. */
function choose(
  types: readonly FileType[],
  { type, name }: { readonly type: string; readonly name: string },
): FileType {
  const extension = /\.[a-z0-9]{1,16}$/i.exec(name)?.[0].toLowerCase()
  const [first = unknownBinary] = types
  const byName = types.find((one) => one.extension === extension)
  if (byName?.type === type) return byName
  return types.find((one) => one.type === type && one !== first) ?? byName ?? first
}

/** No byte that text cannot have, or the byte order mark of UTF-16. */
function isText(text: string): boolean {
  return /^(?:\xfe\xff|\xff\xfe)/.test(text) || !/[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]/.test(text)
}
