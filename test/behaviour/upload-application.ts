/** An application that accepts uploads, and helpers to send forms to it. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  bootstrap,
  Controller,
  Field,
  HttpError,
  Module,
  NoAuth,
  Post,
  reply,
  type Application,
  type BootstrapOptions,
  type InjectResponse,
  type UploadedFile,
  type UploadedFiles,
} from '../../src/index.js'
import { headOf, multipartOf, untilNoFolders, uploadFolders } from '../http/bodies/body-server.js'

class Picture {
  @Field('string', { maxLength: 80 }) title!: string
  @Field('integer') year!: number
  @Field('string', { list: true, optional: true }) tags?: string[]
}

/** The folder that handlers move files to. */
export class StoredFiles {
  path = ''

  async onStart(): Promise<void> {
    this.path = await mkdtemp(join(tmpdir(), 'filigree-kept-'))
  }

  onStop(): Promise<void> {
    return rm(this.path, { recursive: true })
  }
}

let entered: () => void = () => undefined

/** Resolves when the handler of `/slow` starts. The handler ends once no temporary file is left. */
export function slowHandlerBegins(): Promise<void> {
  return new Promise((resolve) => {
    entered = resolve
  })
}

const describeFile = ({ name, type, size }: UploadedFile): object => ({ name, type, size })

@Controller
class UploadController {
  static inject = [StoredFiles]
  constructor(private readonly storedFiles: StoredFiles) {}

  @Post('/form')
  @NoAuth
  form(body: unknown, files: UploadedFiles) {
    const described = Object.entries(files).map(([name, file]) => [
      name,
      Array.isArray(file) ? file.map(describeFile) : describeFile(file),
    ])
    return { body, files: Object.fromEntries(described), folders: uploadFolders().length }
  }

  @Post('/content')
  @NoAuth
  async content(files: { photo: UploadedFile }) {
    let streamed = ''
    for await (const chunk of files.photo.stream()) streamed += String(chunk)
    return { bytes: (await files.photo.bytes()).toString(), streamed }
  }

  @Post('/keep/<name>')
  @NoAuth
  async keep(files: { photo: UploadedFile }, name: string) {
    const { path: folder } = this.storedFiles
    const path = await files.photo.moveTo(name === 'folder' ? `${folder}/` : join(folder, name))
    return reply({ path, same: path === files.photo.path }, 201)
  }

  @Post('/picture')
  @NoAuth
  picture(body: Picture, files: UploadedFiles) {
    return { isPicture: body instanceof Picture, body, files: Object.keys(files) }
  }

  @Post('/broken')
  @NoAuth
  broken(files: UploadedFiles) {
    throw new HttpError(409, `${Object.keys(files).length} taken.`)
  }

  @Post('/slow')
  @NoAuth
  async slow(files: UploadedFiles) {
    entered()
    await untilNoFolders()
    return { files: Object.keys(files) }
  }

  @Post('/unread')
  @NoAuth
  unread() {
    return { unread: true }
  }

  @Post('/large', { limit: '12mb' })
  @NoAuth
  large(files: { photo: UploadedFile }) {
    return { size: files.photo.size }
  }

  @Post('/secret')
  secret(files: UploadedFiles) {
    return { files: Object.keys(files) }
  }
}

@Module({ controllers: [UploadController], providers: [StoredFiles] })
class UploadModule {}

/** Listens on a free port of 127.0.0.1. */
export function startUploads(options: BootstrapOptions = {}): Promise<Application> {
  return bootstrap(UploadModule, { port: 0, host: '127.0.0.1', logger: false, env: {}, ...options })
}

/** The media type of the bodies of `multipartOf('b', …)`. */
export const formType = 'multipart/form-data; boundary=b'

export function post(
  app: Application,
  body: string | Uint8Array,
  url = '/form',
  type = formType,
): Promise<InjectResponse> {
  return app.inject({ method: 'POST', url, headers: { 'content-type': type }, body })
}

export const field = (name: string, body = 'x') => ({ head: headOf(name), body })
export const file = (name: string, fileName: string, body = 'x') => ({
  head: headOf(name, fileName),
  body,
})

export const photo = multipartOf('b', file('photo', 'a.PNG', 'pixels'))
