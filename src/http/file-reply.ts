/** The reply `file()`, which sends a file of a folder. Source: specification, "File serving". */
import { resolve } from 'node:path'
import { acceptOtherCopies } from '../errors/shared-class.js'
import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import { isExecuted } from './file-types.js'
import { HeaderList } from './header-list.js'
import { Reply } from './reply.js'

const fileOptions = declareOptions({
  /** The folder; relative to the working directory of the process. */
  root: option.text("Write the folder: { root: './files' }.").required(),
  /**
   * `true` lets browsers execute the file: HTML, SVG, XML, JavaScript and PDF are sent without `Content-Disposition:
   * attachment` and `Content-Security-Policy: sandbox`. Use it only for files that no client uploaded. Default false.
   */
  inline: option.any<boolean>(),
  /** Makes browsers save the file under this name, in any characters. Default: they display it if they can. */
  download: option.any<string>(),
})

export interface FileOptions extends OptionsOf<typeof fileOptions> {}

/** The body of a `file` reply. */
export class FileBody {
  readonly path: string
  /** Absolute. */
  readonly root: string
  /** A browser may execute the file. */
  readonly inline: boolean
  /** `.well-known` at the top of the root may be read (RFC 8615). */
  readonly wellKnown: boolean

  constructor(path: string, { root, inline = false }: FileOptions, wellKnown = false) {
    this.path = path
    this.root = resolve(root)
    this.inline = inline
    this.wellKnown = wellKnown
  }
}

acceptOtherCopies(FileBody, 'FileBody')

/**
 * Responds with a file: with its media type, ETag, Last-Modified, ranges and 304, and with `Cache-Control: no-cache`
 * unless `.header` sets another rule. A file whose time is before 1980 or in the future has an ETag of its content and
 * no Last-Modified. 404 `{ error }` for missing files, and for `..`, backslashes, NUL,
 * percent-encoded forms of these, names that begin with a dot, folders, and symlinks out of the root. Browsers save
 * files that they would execute, unless `inline` is true.
 *
 * @param path the decoded path below the root, with `/` between its parts
 * @throws {TypeError} if an option is unknown
 */
export function file(path: string, options: FileOptions): Reply<FileBody> {
  fileOptions.check('file', options)
  const reply = new Reply(new FileBody(path, options))
  return options.download === undefined ? reply : reply.download(options.download)
}

const noHeaders = new HeaderList()
const againstExecution = HeaderList.from({
  'Content-Disposition': 'attachment',
  'Content-Security-Policy': "sandbox; default-src 'none'",
})

/** Headers that prevent browsers from executing a file of this type. */
export function headersAgainstExecution({ inline }: FileBody, mediaType: string): HeaderList {
  return inline || !isExecuted(mediaType) ? noHeaders : againstExecution
}
